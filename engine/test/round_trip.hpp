// latency and pingpong: rank 0 sends a message, rank 1 sends it back.
//
// One clock reading per round trip: the end of one is the beginning of the next. Where content is
// checked there are two: what is filled and checked lies between an end and the next beginning at
// the origin, and behind the answer at the target.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/sequence.hpp"
#include "test/stages.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Whether a message holds what the seed gives; the first `skipped` bytes are not looked at.
[[nodiscard]] inline bool content_is_right(std::span<const std::byte> message, std::uint64_t seed,
                                           std::size_t skipped = 0) noexcept {
    skipped = std::min(skipped, message.size());
    return Payload::first_difference(message.subspan(skipped), seed, skipped) < 0;
}

inline void forget_content(std::span<std::byte> message) noexcept {
    if (!message.empty()) {
        std::memset(message.data(), 0, message.size());
    }
}

// A message that was left packed, where its content is to be looked at.
template <class Path>
void take(Path& path, std::span<std::byte> message) {
    if constexpr (PackingTransport<Path>) {
        path.take(message);
    }
}

struct RoundTripCounts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t late = 0;
    std::uint64_t repeated = 0;
    std::uint64_t last_send = 0; // ticks, target
    std::uint64_t last_arrival = 0;
};

template <class Path>
class RoundTripOrigin {
public:
    explicit RoundTripOrigin(const RunParameters& run)
        : run_(run), out_(run.message_bytes, run.seed), in_(run.message_bytes, run.seed),
          round_trips_(run.count), unanswered_(Path::datagrams ? run.count : 0),
          stages_(run.count) {}

    template <class Clock>
    void play(Path& path, const Start& start) {
        if (run_.check_data) {
            play<Clock, true>(path, start);
        } else {
            play<Clock, false>(path, start);
        }
    }

    [[nodiscard]] Totals sent() const noexcept {
        return {counts_.sent, counts_.sent * run_.message_bytes, EndedBy::count};
    }

    void report(Result& result, const Timebase& timebase) const {
        result.series.push_back({"round_trip_ns", "ns", durations_ns(round_trips_, timebase)});
        result.count("messages_sent", counts_.sent);
        result.count("bytes_sent", counts_.sent * run_.message_bytes);
        result.count("messages_received", counts_.received);
        result.count("bytes_received", counts_.received * run_.message_bytes);
        if constexpr (Path::datagrams) {
            result.series.push_back({"unanswered_index", "count", plain(unanswered_)});
            result.count("unanswered", unanswered_.size());
            result.count("late_answers", counts_.late);
            if (is_numbered()) {
                result.count("duplicates", counts_.repeated);
            }
        }
        if (run_.check_data) {
            result.count("corrupt", counts_.corrupt);
        }
    }

    // After the batch: may wait for the last stamps.
    void report_stages(Result& result, Path& path, const Timebase& timebase) const {
        if constexpr (Recorder::active) {
            stages_.report(result, path, true, timebase);
        }
    }

private:
    using Recorder = StagesOver<Path>;

    template <class Clock, bool Check>
    void play(Path& path, const Start& start) {
        if constexpr (Path::datagrams) {
            play_datagrams<Clock, Check>(path, start);
        } else {
            play_stream<Clock, Check>(path);
        }
    }

    template <class Clock, bool Check>
    void play_stream(Path& path) {
        const std::span<const std::byte> out = out_.bytes();
        const std::span<std::byte> in = in_.bytes();
        const std::size_t call_bytes = run_.call_bytes;
        if constexpr (Check) {
            forget_content(in);
        }
        if constexpr (PackingTransport<Path>) {
            path.prepare(out);
        }
        begin_stages<Clock>();
        std::uint64_t begin = Clock::now();
        for (std::uint64_t left = run_.count; left != 0; --left) {
            path.send(out, call_bytes);
            path.receive(in, call_bytes);
            const std::uint64_t end = Clock::now();
            round_trips_.push(end - begin);
            if constexpr (Check) {
                take(path, in);
                counts_.corrupt += content_is_right(in, run_.seed) ? 0U : 1U;
                forget_content(in);
            }
            const auto index = static_cast<std::uint32_t>(run_.count - left);
            begin = next_begin<Clock, Check>(path, index, begin, end, true);
        }
        counts_.sent = counts_.received = run_.count;
    }

    template <class Clock>
    void begin_stages() {
        if constexpr (Recorder::active) {
            stages_.template begin<Clock>();
        }
    }

    // The end of a round trip is the begin of the next, unless the kernel is asked or content is
    // checked in between.
    template <class Clock, bool Check>
    std::uint64_t next_begin(Path& path, std::uint32_t index, std::uint64_t begin,
                             std::uint64_t end, bool answered) {
        if constexpr (Recorder::active) {
            stages_.template note<Clock>(path, index, begin, end, answered);
        }
        return Recorder::active || Check ? Clock::now() : end;
    }

    // Whether numbers have a place of their own; else they are in the message, where it has room.
    static constexpr bool numbered_beside = NumberedTransport<Path>;
    static constexpr std::size_t number_bytes = numbered_beside ? 0 : header_bytes_of<Path>();

    [[nodiscard]] bool is_numbered() const noexcept {
        return numbered_beside || run_.message_bytes >= SequenceNumber::bytes;
    }

    void give_number(Path& path, const SequenceNumber& number) {
        if constexpr (numbered_beside) {
            path.number_next(number.packed());
        } else {
            number.write(out_.bytes());
        }
    }

    [[nodiscard]] SequenceNumber received_number(const Path& path) {
        if constexpr (numbered_beside) {
            return SequenceNumber::unpacked(path.received_number());
        } else {
            return SequenceNumber::read(in_.bytes());
        }
    }

    // Without a number a late answer cannot be told from the one that is waited for, so whatever is
    // there is drained before going on.
    template <class Clock, bool Check>
    void play_datagrams(Path& path, const Start& start) {
        const bool numbered = is_numbered();
        begin_stages<Clock>();
        std::uint64_t begin = Clock::now();
        for (std::uint32_t index = 0; index < run_.count; ++index) {
            const SequenceNumber number{index, start.batch & SequenceNumber::batch_mask,
                                        index + 1 == run_.count};
            if (numbered) {
                give_number(path, number);
            }
            seal(path, out_.bytes());
            path.send(out_.bytes(), run_.call_bytes);
            ++counts_.sent;
            const bool answered = numbered ? await_answer(path, number) : await_any(path);
            const std::uint64_t end = Clock::now();
            (answered ? round_trips_ : unanswered_).push(answered ? end - begin : index);
            if constexpr (Check) {
                check(answered, numbered);
            }
            begin = next_begin<Clock, Check>(path, index, begin, end, answered);
            if (!answered && !numbered) {
                path.drain();
            }
        }
    }

    bool await_answer(Path& path, const SequenceNumber& number) {
        const std::span<std::byte> in = in_.bytes();
        while (true) {
            const std::size_t got = path.receive(in, run_.call_bytes);
            if (got == nothing_received) {
                return false;
            }
            if (got != in.size()) {
                continue; // a stranger
            }
            const SequenceNumber received = received_number(path);
            if (received.packed() == number.packed()) {
                break;
            }
            note_other(received, number);
        }
        ++counts_.received;
        return true;
    }

    // Something else came: an answer that was given up, one that was repeated, or one of an earlier
    // batch.
    void note_other(const SequenceNumber& other, const SequenceNumber& number) {
        if (other.batch != number.batch || other.index >= number.index) {
            return;
        }
        const auto given_up = unanswered_.values();
        const bool late = std::binary_search(given_up.begin(), given_up.end(), other.index);
        ++(late ? counts_.late : counts_.repeated);
    }

    bool await_any(Path& path) {
        arrived_bytes_ = path.receive(in_.bytes(), run_.call_bytes);
        if (arrived_bytes_ == nothing_received) {
            return false;
        }
        ++counts_.received;
        return true;
    }

    // The datagram that was awaited last.
    void check(bool answered, bool numbered) {
        if (answered) {
            const bool whole = numbered || arrived_bytes_ == run_.message_bytes;
            const bool right =
                whole && content_is_right(in_.bytes(), run_.seed, numbered ? number_bytes : 0);
            counts_.corrupt += right ? 0U : 1U;
        }
    }

    RunParameters run_;
    Payload out_;
    Payload in_;
    Samples round_trips_;
    Samples unanswered_;
    [[no_unique_address]] Recorder stages_;
    RoundTripCounts counts_;
    std::size_t arrived_bytes_ = 0; // of a datagram without a number
};

template <class Path>
class RoundTripTarget {
public:
    explicit RoundTripTarget(const RunParameters& run)
        : run_(run), buffer_(run.message_bytes, run.seed),
          other_(run.echo_other ? run.message_bytes : 0, run.seed), stages_(run.count) {
        if (run.check_data && !Path::datagrams) {
            buffer_.replicate(2);
        }
    }

    // ended(): asked only after a silence, and only over datagrams: has the origin finished?
    template <class Clock, class Ended>
    void play(Path& path, const Start& start, Ended& ended) {
        if constexpr (Recorder::active) {
            stages_.template begin<Clock>();
        }
        if constexpr (Path::datagrams) {
            play_datagrams<Clock>(path, start, ended);
        } else if (run_.check_data) {
            play_stream<Clock, true>(path);
        } else {
            play_stream<Clock, false>(path);
        }
        counts_.last_arrival = Clock::now();
    }

    [[nodiscard]] Totals received() const noexcept {
        return {counts_.received, counts_.received * run_.message_bytes, EndedBy::count};
    }
    [[nodiscard]] std::uint64_t last_arrival_ticks() const noexcept { return counts_.last_arrival; }

    void report(Result& result) const {
        result.count("messages_received", counts_.received);
        result.count("bytes_received", counts_.received * run_.message_bytes);
        result.count("messages_sent", counts_.sent);
        result.count("bytes_sent", counts_.sent * run_.message_bytes);
        if (run_.check_data) {
            result.count("corrupt", counts_.corrupt);
        }
    }

    void report_stages(Result& result, Path& path, const Timebase& timebase) const {
        if constexpr (Recorder::active) {
            stages_.report(result, path, false, timebase);
        }
    }

private:
    using Recorder = StagesOver<Path>;

    // Sends the answer to a message that was received `at` ticks.
    template <class Clock>
    void answer(Path& path, std::uint32_t index, std::uint64_t at) {
        if constexpr (Recorder::active) {
            const std::uint64_t begin = Clock::now();
            send_answer(path);
            stages_.template note<Clock>(path, index, at, begin);
        } else {
            send_answer(path);
        }
    }

    void send_answer(Path& path) {
        const std::span<std::byte> message = run_.echo_other ? other_.bytes() : buffer_.bytes();
        seal(path, message);
        path.send(message, run_.call_bytes);
    }

    template <class Clock>
    static std::uint64_t stamped_now() {
        return Recorder::active ? Clock::now() : 0;
    }

    // An answer may still be read from its memory (zero copy) while it is checked, so the next
    // message comes into another: the one before that has arrived, for it was followed by a
    // message.
    template <class Clock, bool Check>
    void play_stream(Path& path) {
        if constexpr (Check) {
            forget_content(buffer_.bytes());
        }
        if constexpr (PackingTransport<Path>) {
            path.answer_as_received();
        }
        for (std::uint64_t left = run_.count; left != 0; --left) {
            path.receive(buffer_.bytes(), run_.call_bytes);
            const std::uint64_t received = stamped_now<Clock>();
            answer<Clock>(path, static_cast<std::uint32_t>(run_.count - left), received);
            if constexpr (Check) {
                take(path, buffer_.bytes());
                counts_.corrupt += content_is_right(buffer_.bytes(), run_.seed) ? 0U : 1U;
                buffer_.use((run_.count - left + 1) % 2);
                forget_content(buffer_.bytes());
            }
        }
        counts_.sent = counts_.received = run_.count;
    }

    template <class Clock, class Ended>
    void play_datagrams(Path& path, const Start& start, Ended& ended) {
        const bool numbered = run_.message_bytes >= SequenceNumber::bytes;
        const std::uint32_t batch = start.batch & SequenceNumber::batch_mask;
        const std::span<std::byte> buffer = buffer_.bytes();
        bool last = false;
        while (!last) {
            const std::size_t got = path.receive(buffer, run_.call_bytes);
            const std::uint64_t received = stamped_now<Clock>();
            if (got == nothing_received) {
                if (ended()) {
                    return;
                }
                continue;
            }
            const SequenceNumber number =
                numbered ? SequenceNumber::read(buffer) : SequenceNumber{};
            if (got != buffer.size() || (numbered && number.batch != batch)) {
                continue; // a straggler of an earlier batch
            }
            answer<Clock>(path, number.index, received);
            if (run_.check_data) {
                check(buffer, numbered);
            }
            ++counts_.received;
            ++counts_.sent;
            last = numbered ? number.last : counts_.received == run_.count;
        }
    }

    void check(std::span<const std::byte> message, bool numbered) {
        const std::size_t skipped = numbered ? header_bytes_of<Path>() : 0;
        counts_.corrupt += content_is_right(message, run_.seed, skipped) ? 0U : 1U;
    }

    RunParameters run_;
    Payload buffer_;
    Payload other_; // what is sent back where that is not what was received
    [[no_unique_address]] Recorder stages_;
    RoundTripCounts counts_;
};

} // namespace sonde
