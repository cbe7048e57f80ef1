// overheads: what a message costs the host that sends it and the host that receives it.
//
// The origin sends, reads nothing but its clock until the answer is there for certain, and then
// times one receive call. What the longest time between two readings has beyond the others is what
// the arrival took from the program (Tam, 2001, appendix A.2, whose segment is a poll); what the
// receive call takes is U_r. Which of the gaps count is decided later, by who knows all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/clock.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/sequence.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

template <class Path>
class OverheadsOrigin {
public:
    explicit OverheadsOrigin(const RunParameters& run)
        : run_(run), out_(run.message_bytes, run.seed), in_(run.message_bytes, run.seed),
          send_(run.count), gap_(run.count), readings_(run.count), receive_(run.count) {}

    template <class Clock>
    void play(Path& path, const Start& start, const Timebase& timebase) {
        const std::uint64_t wait = timebase.to_ticks(run_.wait_ns);
        if constexpr (PackingTransport<Path>) {
            path.prepare(out_.bytes());
        }
        SequenceNumber number{0, start.batch & SequenceNumber::batch_mask, false};
        for (std::uint64_t index = 0; index < run_.count; ++index) {
            number.index = static_cast<std::uint32_t>(index);
            number.last = index + 1 == run_.count;
            exchange<Clock>(path, number, wait);
        }
    }

    [[nodiscard]] Totals sent() const noexcept {
        return {run_.count, run_.count * run_.message_bytes, EndedBy::count};
    }

    void report(Result& result, const Timebase& timebase) const {
        result.series.push_back({"send_call_ns", "ns", durations_ns(send_, timebase)});
        result.series.push_back({"longest_gap_ns", "ns", durations_ns(gap_, timebase)});
        result.series.push_back({"readings", "count", plain(readings_)});
        result.series.push_back({"receive_call_ns", "ns", durations_ns(receive_, timebase)});
        result.count("messages_sent", run_.count);
        result.count("bytes_sent", run_.count * run_.message_bytes);
        result.count("messages_received", receive_.size());
        result.count("bytes_received", receive_.size() * run_.message_bytes);
        if constexpr (Path::datagrams) {
            result.count("unanswered", run_.count - receive_.size());
        }
    }

private:
    template <class Clock>
    void exchange(Path& path, const SequenceNumber& number, std::uint64_t wait) {
        if (is_numbered()) {
            number.write(out_.bytes());
        }
        seal(path, out_.bytes());
        const std::uint64_t begin = Clock::now();
        path.send(out_.bytes(), run_.call_bytes);
        const std::uint64_t sent = Clock::now();
        std::uint64_t last = sent;
        std::uint64_t longest = 0;
        std::uint64_t readings = 0;
        do {
            const std::uint64_t now = Clock::now();
            longest = std::max(longest, now - last);
            last = now;
            ++readings;
        } while (last - sent < wait);
        std::uint64_t asked = Clock::now();
        bool answered = path.receive(in_.bytes(), run_.call_bytes) != nothing_received;
        std::uint64_t received = Clock::now();
        while (answered && is_another(number)) { // one that was given up earlier
            asked = Clock::now();
            answered = path.receive(in_.bytes(), run_.call_bytes) != nothing_received;
            received = Clock::now();
        }
        if (answered) {
            send_.push(sent - begin);
            gap_.push(longest);
            readings_.push(readings);
            receive_.push(received - asked);
        }
    }

    [[nodiscard]] bool is_numbered() const noexcept {
        return Path::datagrams && run_.message_bytes >= SequenceNumber::bytes;
    }

    [[nodiscard]] bool is_another(const SequenceNumber& number) noexcept {
        return is_numbered() && SequenceNumber::read(in_.bytes()).packed() != number.packed();
    }

    RunParameters run_;
    Payload out_;
    Payload in_;
    Samples send_;
    Samples gap_;
    Samples readings_;
    Samples receive_;
};

} // namespace sonde
