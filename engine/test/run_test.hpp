// One batch at one end: synchronise, play the test, synchronise again, say what was found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "test/duplex.hpp"
#include "test/open_loop.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/stream.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Called when every buffer is there and before the first frame, and after the last frame.
struct BatchHooks {
    std::function<void()> before;
    std::function<void()> after;
};

// One end of one batch over a path between two ends. `batch` tells the batches of a session apart.
template <class Clock, MessageTransport Path, ControlChannel Control, PathObserver Observer>
class Batch {
public:
    Batch(Path& path, Control& control, int rank, std::uint32_t batch, const RunParameters& run,
          Timebase& timebase, const BatchHooks& hooks, Observer& observer)
        : path_(path), control_(control), rank_(rank), batch_(batch), run_(run),
          timebase_(timebase), hooks_(hooks), observer_(observer) {}

    Result play() {
        switch (run_.test) {
        case Test::latency:
        case Test::pingpong:
            return rank_ == 0 ? round_trip_origin() : round_trip_target();
        case Test::stream:
            return rank_ == 0 ? stream_origin() : stream_target();
        case Test::duplex:
            if constexpr (ConcurrentTransport<Path>) {
                return duplex();
            } else if constexpr (ExchangeTransport<Path>) {
                return exchange();
            }
            throw Failure("bad_request", "this transport cannot send and receive at once");
        case Test::open_loop:
            if constexpr (ConcurrentTransport<Path>) {
                return rank_ == 0 ? open_loop_origin() : round_trip_target();
            }
            throw Failure("bad_request", "this transport cannot send and receive at once");
        case Test::collective:
            break;
        }
        throw Failure("bad_request", "collective operations need MPI");
    }

private:
    Result round_trip_origin() {
        RoundTripOrigin<Path> end(run_);
        begin();
        end.template play<Clock>(path_, start_);
        say_sent(control_, end.sent());
        const Totals received = hear_received(control_);
        if constexpr (!Path::datagrams) {
            require_complete(end.sent(), received);
        }
        finish(Clock::now());
        end.report(result_, timebase_);
        end.report_stages(result_, path_, timebase_);
        return std::move(result_);
    }

    Result round_trip_target() {
        RoundTripTarget<Path> end(run_);
        begin();
        auto ended = [this] { return control_has_frame(); };
        end.template play<Clock>(path_, start_, ended);
        hear_sent(control_);
        say_received(control_, end.received());
        finish(end.last_arrival_ticks());
        end.report(result_);
        end.report_stages(result_, path_, timebase_);
        return std::move(result_);
    }

    Result open_loop_origin() {
        OpenLoopOrigin<Path> end(run_);
        begin();
        end.template play<Clock>(path_, start_, timebase_);
        say_sent(control_, end.sent());
        const Totals received = hear_received(control_);
        if constexpr (!Path::datagrams) {
            require_complete(end.sent(), received);
        }
        finish(Clock::now());
        end.report(result_, start_, timebase_);
        return std::move(result_);
    }

    Result stream_origin() {
        SenderOver<Path> sender(run_);
        begin();
        sender.template play<Clock>(path_, start_, timebase_, observer_);
        say_sent(control_, sender.sent());
        const Totals received = hear_received(control_);
        const std::uint64_t end_ticks = Clock::now();
        control_.send(Frame{Frame::Kind::ready});
        if constexpr (!Path::datagrams) {
            require_complete(sender.sent(), received);
        }
        finish(end_ticks);
        result_.count("notice_held_ns", received.held_ns);
        sender.report(result_, start_, timebase_);
        return std::move(result_);
    }

    Result stream_target() {
        ReceiverOver<Path> receiver(run_);
        begin();
        std::optional<Totals> sent;
        auto ended = [&] {
            if (!sent && control_has_frame()) {
                sent = hear_sent(control_);
            }
            return sent;
        };
        play_receiver(receiver, ended);
        if (!sent) {
            sent = hear_sent(control_);
        }
        // The origin takes its own time from this notice; how late it is, only this end can tell.
        Totals received = receiver.received();
        received.held_ns = static_cast<std::uint64_t>(
            timebase_.duration_ns(Clock::now() - receiver.last_arrival_ticks()));
        say_received(control_, received);
        // Both ends may share a processor: the origin is to have it until its clock has stopped.
        control_.expect(Frame::Kind::ready);
        finish(receiver.last_arrival_ticks());
        report_receiver(receiver, *sent);
        result_.ended_by = sent->ended_by;
        return std::move(result_);
    }

    Result duplex() {
        SenderOver<Path> sender(run_);
        ReceiverOver<Path> receiver(run_);
        PeerSent peer_sent;
        prepare();
        synchronise_ends();
        std::optional<Totals> sent;
        Totals received;
        {
            auto ended = [&] { return peer_sent.get(); };
            ReceivingThread thread([&] { play_receiver(receiver, ended); },
                                   [&] { path_.interrupt(); });
            try {
                sender.template play<Clock>(path_, start_, timebase_, observer_);
                say_sent(control_, sender.sent());
                sent = hear_sent(control_);
                peer_sent.set(*sent);
            } catch (...) {
                thread.fail();
            }
            thread.join();
            say_received(control_, receiver.received());
            received = hear_received(control_);
        }
        if constexpr (!Path::datagrams) {
            require_complete(sender.sent(), received);
            require_complete(*sent, receiver.received());
        }
        finish(rank_ == 0 ? Clock::now() : receiver.last_arrival_ticks());
        result_.counters["last_arrival_ns"] = timebase_.to_ns(receiver.last_arrival_ticks());
        report_receiver(receiver, *sent);
        sender.report(result_, start_, timebase_);
        return std::move(result_);
    }

    Result exchange() {
        ExchangeEnd<Path> end(run_, rank_);
        begin();
        end.template play<Clock>(path_, start_, timebase_);
        if (rank_ == 0) {
            say_sent(control_, end.totals());
            require_complete(end.totals(), hear_received(control_));
            finish(Clock::now());
            end.report(result_, start_, timebase_);
        } else {
            const Totals sent = hear_sent(control_);
            say_received(control_, end.totals());
            finish(end.last_arrival_ticks());
            end.report(result_, start_, timebase_);
            result_.ended_by = sent.ended_by;
        }
        return std::move(result_);
    }

    void begin() {
        prepare();
        synchronise_ends();
    }

    void prepare() {
        hooks_.before();
        if constexpr (Path::datagrams) {
            path_.drain();
        }
        calls_sent_ = path_.calls_sent();
        calls_received_ = path_.calls_received();
    }

    void synchronise_ends() {
        timebase_.refresh(); // the clocks of both ends are compared now
        start_ = rank_ == 0 ? synchronise_origin<Clock>(control_, batch_, run_.fingerprint(),
                                                        timebase_, [this] { await_start(); })
                            : synchronise_target<Clock>(control_, run_.fingerprint(), timebase_);
    }

    // Many ends that are to begin at one instant of a common clock. Late ones begin at once.
    void await_start() {
        if (run_.start_at_ns != 0) {
            waited_for_start_ns_ = run_.start_at_ns - host_clock_ns(monotonic_ns());
            await_host_clock(run_.start_at_ns, [this] { return control_has_frame(); });
        }
    }

    void finish(std::uint64_t end_ticks) {
        const int cpu = current_cpu();
        hooks_.after();
        timebase_.refresh();
        if constexpr (requires { path_.counted(); }) {
            for (const auto& [name, value] : path_.counted()) {
                result_.count(name, value);
            }
        }
        result_.counters["start_ns"] = timebase_.to_ns(start_.ticks);
        result_.counters["end_ns"] = timebase_.to_ns(end_ticks);
        result_.counters["sync_round_trip_ns"] =
            static_cast<std::int64_t>(timebase_.duration_ns(start_.round_trip_ticks));
        if (rank_ == 0) {
            result_.counters["peer_clock_low_ns"] = start_.peer_clock.low_ns;
            result_.counters["peer_clock_high_ns"] = start_.peer_clock.high_ns;
        }
        if (rank_ == 0 && run_.start_at_ns != 0) {
            result_.counters["start_late_ns"] = timebase_.to_ns(start_.ticks) - run_.start_at_ns;
            result_.counters["start_waited_ns"] = std::max<std::int64_t>(waited_for_start_ns_, 0);
        }
        result_.counters["cpu"] = cpu;
        result_.count("calls_sent", path_.calls_sent() - calls_sent_);
        result_.count("calls_received", path_.calls_received() - calls_received_);
    }

    bool control_has_frame() {
        if constexpr (PollableControl<Control>) {
            return control_.arrived();
        } else {
            static_assert(!Path::datagrams, "a test over datagrams needs a PollableControl");
            return false;
        }
    }

    template <class Receiver, class Ended>
    void play_receiver(Receiver& receiver, Ended& ended) {
        if constexpr (Path::datagrams) {
            receiver.template play<Clock>(path_, start_, ended);
        } else {
            receiver.template play<Clock>(path_);
        }
    }

    template <class Receiver>
    void report_receiver(const Receiver& receiver, const Totals& sent) {
        if constexpr (Path::datagrams) {
            receiver.report(result_, start_, sent, timebase_);
        } else {
            receiver.report(result_, start_, timebase_);
        }
    }

    Path& path_;
    Control& control_;
    int rank_;
    std::uint32_t batch_;
    const RunParameters& run_;
    Timebase& timebase_;
    const BatchHooks& hooks_;
    Observer& observer_;
    Start start_;
    std::int64_t waited_for_start_ns_ = 0;
    Result result_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

template <MessageTransport Path, ControlChannel Control, PathObserver Observer>
Result run_test(Path& path, Control& control, int rank, std::uint32_t batch,
                const RunParameters& run, Timebase& timebase, const BatchHooks& hooks,
                Observer& observer) {
    return timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        return Batch<Clock, Path, Control, Observer>(path, control, rank, batch, run, timebase,
                                                     hooks, observer)
            .play();
    });
}

template <MessageTransport Path, ControlChannel Control>
Result run_test(Path& path, Control& control, int rank, std::uint32_t batch,
                const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    NoObserver nobody;
    return run_test(path, control, rank, batch, run, timebase, hooks, nobody);
}

} // namespace sonde
