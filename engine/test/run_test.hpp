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
#include "test/overheads.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/rounds.hpp"
#include "test/run_parameters.hpp"
#include "test/stream.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Called when every buffer is there and before the first frame, and after the last frame.
struct BatchHooks {
    std::function<void()> before;
    std::function<void()> after;
    // Of rounds. At the target: waits until all flows have had theirs; when the next one starts by
    // this host's clock, none where that was the last. At the origin: how often the kernel's
    // retransmission timers have run out, where it says so.
    std::function<std::optional<std::int64_t>()> next_round = nullptr;
    std::function<std::optional<std::int64_t>()> time_outs = nullptr;
};

// What a path counts of its own.
template <class Path>
void count_own(Path& path, Result& result) {
    if constexpr (requires { path.counted(); }) {
        for (const auto& [name, value] : path.counted()) {
            result.count(name, value);
        }
    }
}

// One end of one batch over a path between two ends. `batch` tells the batches of a session apart.
template <class Clock, MessageTransport Path, ControlChannel Control, PathObserver Observer>
class Batch {
public:
    Batch(Path& path, Control& control, int rank, std::uint32_t batch, const RunParameters& run,
          Timebase& timebase, const BatchHooks& hooks, Observer& observer)
        : path_(path), control_(control), rank_(rank), batch_(batch), run_(run),
          timebase_(timebase), hooks_(hooks), observer_(observer) {}

    Result play() {
        constexpr Traffic traffic = traffic_of<Path>;
        if constexpr (traffic != Traffic::streamed) {
            if (std::optional<Result> answered = play_answered()) {
                return std::move(*answered);
            }
        }
        if constexpr (traffic != Traffic::answered) {
            if (std::optional<Result> streamed = play_streamed()) {
                return std::move(*streamed);
            }
        }
        throw Failure("bad_request", run_.test == Test::bounds
                                         ? "test bounds is for transports that are told of memory"
                                         : "this transport cannot send and receive at once");
    }

private:
    // None where the test is another, or cannot be played over this path.
    std::optional<Result> play_answered() {
        switch (run_.test) {
        case Test::latency:
        case Test::pingpong:
            return rank_ == 0 ? round_trip_origin() : round_trip_target();
        case Test::open_loop:
            if constexpr (ConcurrentTransport<Path>) {
                return rank_ == 0 ? open_loop_origin() : round_trip_target();
            }
            return std::nullopt;
        case Test::overheads:
            return rank_ == 0 ? overheads_origin() : round_trip_target();
        default:
            return std::nullopt;
        }
    }

    std::optional<Result> play_streamed() {
        switch (run_.test) {
        case Test::stream:
            if (run_.rounds != 0) {
                return rank_ == 0 ? rounds_origin() : rounds_target();
            }
            return rank_ == 0 ? stream_origin() : stream_target();
        case Test::duplex:
            if constexpr (ConcurrentTransport<Path>) {
                return duplex();
            } else if constexpr (ExchangeTransport<Path>) {
                return exchange();
            }
            return std::nullopt;
        default:
            return std::nullopt;
        }
    }

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

    Result overheads_origin() {
        OverheadsOrigin<Path> end(run_);
        begin();
        end.template play<Clock>(path_, start_, timebase_);
        say_sent(control_, end.sent());
        const Totals received = hear_received(control_);
        if constexpr (!Path::datagrams) {
            require_complete(end.sent(), received);
        }
        finish(Clock::now());
        end.report(result_, timebase_);
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
        const Totals sent = receive_all(receiver);
        // The origin takes its own time from this notice; how late it is, only this end can tell.
        Totals received = receiver.received();
        received.held_ns = static_cast<std::uint64_t>(
            timebase_.duration_ns(Clock::now() - receiver.last_arrival_ticks()));
        say_received(control_, received);
        // Both ends may share a CPU: the origin is to have it until its clock has stopped.
        control_.expect(Frame::Kind::ready);
        finish(receiver.last_arrival_ticks());
        report_receiver(receiver, sent, result_);
        result_.ended_by = sent.ended_by;
        return std::move(result_);
    }

    // What the origin said that it sent, when all of it is there or nothing more will come.
    Totals receive_all(ReceiverOver<Path>& receiver) {
        std::optional<Totals> sent;
        auto ended = [&] {
            if (!sent && control_has_frame()) {
                sent = hear_sent(control_);
            }
            return sent;
        };
        play_receiver(receiver, ended);
        return sent ? *sent : hear_sent(control_);
    }

    Result rounds_origin() {
        std::optional<SenderOver<Path>> sender(std::in_place, run_);
        RoundsSent rounds(run_.rounds, time_outs());
        Totals all;
        begin();
        const Start first = start_;
        std::int64_t waited_ns = waited_for_start_ns_;
        do {
            sender->template play<Clock>(path_, start_, timebase_, observer_);
            const Totals sent = sender->sent();
            // A stream shows its own end. A frame behind it could be lost where all blocks meet,
            // and would be repeated after a time-out that has nothing to do with the test.
            if constexpr (Path::datagrams) {
                say_sent(control_, sent);
                hear_received(control_);
            } else {
                require_complete(sent, hear_received(control_));
            }
            all.messages += sent.messages;
            all.bytes += sent.bytes;
            rounds.note(start_.ticks, waited_ns, time_outs());
            sender.emplace(run_); // with the first byte of its last message as it was
        } while (start_next_round(waited_ns));
        const std::uint64_t end_ticks = Clock::now();
        start_ = first;
        finish(end_ticks);
        result_.count("messages_sent", all.messages);
        result_.count("bytes_sent", all.bytes);
        rounds.report(result_, first.ticks, timebase_);
        return std::move(result_);
    }

    // At the origin: false where there is no other round.
    bool start_next_round(std::int64_t& waited_ns) {
        drain();
        const Frame next = control_.expect(Frame::Kind::next);
        if (next.detail == 0) {
            return false;
        }
        const PeerClock& peer = start_.peer_clock;
        const std::int64_t lead_ns = peer.low_ns + (peer.high_ns - peer.low_ns) / 2;
        const std::int64_t instant_ns = static_cast<std::int64_t>(next.first) - lead_ns;
        waited_ns = instant_ns - host_clock_ns(monotonic_ns());
        await_host_clock(instant_ns, [this] { return control_has_frame(); });
        start_.ticks = Clock::now();
        ++start_.batch;
        return true;
    }

    Result rounds_target() {
        std::optional<ReceiverOver<Path>> receiver(std::in_place, run_);
        RoundsReceived rounds(run_.rounds);
        begin();
        const Start first = start_;
        do {
            const Totals sent = receive_round(*receiver);
            say_received(control_, receiver->received());
            Result part;
            report_receiver(*receiver, sent, part);
            rounds.note(receiver->last_arrival_ticks(), part, result_);
            receiver.emplace(run_);
        } while (let_next_round_start());
        start_ = first;
        finish(rounds.last_ticks());
        rounds.report(result_, first.ticks, timebase_);
        return std::move(result_);
    }

    Totals receive_round(ReceiverOver<Path>& receiver) {
        if constexpr (Path::datagrams) {
            return receive_all(receiver);
        } else {
            receiver.template play<Clock>(path_);
            return receiver.received();
        }
    }

    // At the target.
    bool let_next_round_start() {
        const std::optional<std::int64_t> instant_ns = hooks_.next_round();
        drain();
        Frame next{Frame::Kind::next, static_cast<std::uint64_t>(instant_ns.value_or(0))};
        next.detail = instant_ns ? 1 : 0;
        control_.send(next);
        start_.ticks = Clock::now();
        ++start_.batch;
        return instant_ns.has_value();
    }

    std::optional<std::int64_t> time_outs() const {
        return hooks_.time_outs ? hooks_.time_outs() : std::nullopt;
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
        report_receiver(receiver, *sent, result_);
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
        drain();
        calls_sent_ = path_.calls_sent();
        calls_received_ = path_.calls_received();
    }

    void drain() {
        if constexpr (Path::datagrams) {
            path_.drain();
        }
    }

    void synchronise_ends() {
        timebase_.refresh(); // the clocks of both ends are compared now
        start_ = rank_ == 0
                     ? synchronise_origin<Clock>(control_, batch_, run_.fingerprint(), timebase_,
                                                 {run_.settle_ns, run_.silent_start},
                                                 [this] { await_start(); })
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
        count_own(path_, result_);
        note_boundaries(result_, rank_, timebase_, start_, end_ticks);
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
    void report_receiver(const Receiver& receiver, const Totals& sent, Result& result) {
        if constexpr (Path::datagrams) {
            receiver.report(result, start_, sent, timebase_);
        } else {
            receiver.report(result, start_, timebase_);
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

// By a clock that the host's timebase does not know; `timebase` is that clock's own.
template <class Clock, MessageTransport Path, ControlChannel Control>
Result run_test_by(Path& path, Control& control, int rank, std::uint32_t batch,
                   const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    NoObserver nobody;
    return Batch<Clock, Path, Control, NoObserver>(path, control, rank, batch, run, timebase, hooks,
                                                   nobody)
        .play();
}

} // namespace sonde
