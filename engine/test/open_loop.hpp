// open_loop: rank 0 sends messages at intended times whatever became of those before, rank 1 sends
// each back. A response time counts from the intended time: what a late message had to wait is in
// it, so that a slow moment shows in every message that it held up (no coordinated omission).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/datagram_stream.hpp"
#include "test/duplex.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/sequence.hpp"
#include "transport/transport.hpp"

namespace sonde {

template <ConcurrentTransport Path>
class OpenLoopOrigin {
public:
    explicit OpenLoopOrigin(const RunParameters& run)
        : run_(run), out_(run.message_bytes, run.seed), in_(run.message_bytes, run.seed),
          sent_at_(run.count), answered_at_(run.count), index_(Path::datagrams ? run.count : 0),
          seen_(Path::datagrams ? run.count : 0) {
        if (run.rate_bit_per_s == 0) {
            throw Failure("bad_request", "an open loop needs rate_bit_per_s: when messages are to "
                                         "be sent");
        }
        if (Path::datagrams && run.message_bytes < SequenceNumber::bytes) {
            throw Failure("bad_request", "in an open loop answers may be lost, so datagrams are "
                                         "numbered: message_bytes must be at least 8");
        }
    }

    template <class Clock>
    void play(Path& path, const Start& start, const Timebase& timebase) {
        ReceivingThread thread([&] { receive<Clock>(path, start); }, [&] { path.interrupt(); });
        try {
            send<Clock>(path, start, timebase);
            all_sent_ = true;
        } catch (...) {
            thread.fail();
        }
        thread.join();
    }

    [[nodiscard]] Totals sent() const noexcept {
        return {run_.count, run_.count * run_.message_bytes, EndedBy::count};
    }

    void report(Result& result, const Start& start, const Timebase& timebase) const {
        result.series.push_back({"sent_ns", "ns", since_ns(sent_at_, start.ticks, timebase)});
        auto responses = since_ns(answered_at_, start.ticks, timebase);
        const Pace pace(run_, start.ticks, timebase);
        for (std::size_t i = 0; i < responses.size(); ++i) {
            const std::uint64_t message = Path::datagrams ? index_.values()[i] : i;
            responses[i] -= pace.intended_ns(message);
        }
        result.series.push_back({"response_ns", "ns", std::move(responses)});
        if constexpr (Path::datagrams) {
            result.series.push_back({"sequence", "count", plain(index_)});
        }
        const std::uint64_t answered = answered_at_.size();
        result.counters["interval_ps"] = pace.interval_ps();
        result.counters["last_answer_ns"] = timebase.to_ns(last_answer_ticks_);
        result.count("messages_sent", run_.count);
        result.count("bytes_sent", run_.count * run_.message_bytes);
        result.count("messages_received", answered);
        result.count("bytes_received", answered * run_.message_bytes);
        result.count("unanswered", run_.count - answered);
    }

private:
    template <class Clock>
    void send(Path& path, const Start& start, const Timebase& timebase) {
        const Pace pace(run_, start.ticks, timebase);
        SequenceNumber number{0, start.batch & SequenceNumber::batch_mask, false};
        for (std::uint64_t i = 0; i < run_.count; ++i) {
            if constexpr (Path::datagrams) {
                number.index = static_cast<std::uint32_t>(i);
                number.last = i + 1 == run_.count;
                number.write(out_.bytes());
                seal(path, out_.bytes());
            }
            sent_at_.push(pace.template await<Clock>(i, path));
            path.send(out_.bytes(), run_.call_bytes);
        }
    }

    template <class Clock>
    void receive(Path& path, const Start& start) {
        last_answer_ticks_ = start.ticks;
        if constexpr (Path::datagrams) {
            receive_datagrams<Clock>(path, start.batch & SequenceNumber::batch_mask);
        } else {
            for (std::uint64_t left = run_.count; left != 0; --left) {
                path.receive(in_.bytes(), run_.call_bytes);
                note(Clock::now());
            }
        }
    }

    // Ends when all are there, or after two silences in a row once everything was sent.
    template <class Clock>
    void receive_datagrams(Path& path, std::uint32_t batch) {
        int silences = 0;
        while (answered_at_.size() < run_.count && silences < 2) {
            const std::size_t got = path.receive(in_.bytes(), run_.call_bytes);
            const std::uint64_t now = Clock::now();
            if (got == nothing_received) {
                silences = all_sent_ ? silences + 1 : 0;
                continue;
            }
            silences = 0;
            const SequenceNumber number = SequenceNumber::read(in_.bytes());
            if (got == in_.bytes().size() && number.batch == batch && seen_.note(number.index)) {
                index_.push(number.index);
                note(now);
            }
        }
    }

    void note(std::uint64_t now) noexcept {
        answered_at_.push(now);
        last_answer_ticks_ = now;
    }

    RunParameters run_;
    Payload out_;
    Payload in_;
    Samples sent_at_;
    Samples answered_at_;
    Samples index_; // of each answer, over datagrams
    ArrivalLedger seen_;
    std::atomic<bool> all_sent_ = false;
    std::uint64_t last_answer_ticks_ = 0;
};

} // namespace sonde
