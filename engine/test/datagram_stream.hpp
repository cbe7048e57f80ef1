// stream over datagrams: paced or as fast as it goes; losses, repetitions and order counted
// exactly.
#pragma once

#include <time.h> // NOLINT(modernize-deprecated-headers): clock_nanosleep is POSIX

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/sequence.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// When each datagram is to leave: an open-loop schedule of intended times from the start, so that a
// late datagram does not delay the ones after it.
class Pace {
public:
    Pace(const RunParameters& run, std::uint64_t start_ticks, const Timebase& timebase)
        : timebase_(timebase), start_ticks_(start_ticks) {
        if (run.rate_bit_per_s != 0) {
            interval_ns_ = static_cast<double>(run.message_bytes) * 8e9 /
                           static_cast<double>(run.rate_bit_per_s);
        }
    }

    // Since the start.
    [[nodiscard]] std::int64_t intended_ns(std::uint64_t index) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(index) * interval_ns_);
    }

    [[nodiscard]] std::int64_t interval_ps() const noexcept {
        return static_cast<std::int64_t>(interval_ns_ * 1e3);
    }

    // Waits for the intended time of the datagram: asleep while it is far away, then spinning.
    template <class Clock, class Path>
    std::uint64_t await(std::uint64_t index, Path& path) const {
        const std::uint64_t intended = start_ticks_ + timebase_.to_ticks(intended_ns(index));
        std::uint64_t now = Clock::now();
        while (now < intended) {
            const auto left_ns = static_cast<std::int64_t>(timebase_.duration_ns(intended - now));
            if (left_ns > 2 * spin_ns) {
                sleep_ns(std::min(left_ns - spin_ns, longest_sleep_ns));
                if constexpr (requires { path.told_to_end(); }) {
                    if (path.told_to_end()) {
                        return Clock::now();
                    }
                } else if constexpr (requires { path.check_interrupted(); }) {
                    path.check_interrupted();
                }
            }
            now = Clock::now();
        }
        return now;
    }

private:
    // A sleep ends up to some tens of microseconds late even with the smallest timer slack.
    static constexpr std::int64_t spin_ns = 100'000;
    static constexpr std::int64_t longest_sleep_ns = 20'000'000;

    static void sleep_ns(std::int64_t duration_ns) noexcept {
        const timespec duration{static_cast<time_t>(duration_ns / 1'000'000'000),
                                static_cast<long>(duration_ns % 1'000'000'000)};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
    }

    const Timebase& timebase_;
    std::uint64_t start_ticks_;
    double interval_ns_ = 0.0;
};

template <DatagramTransport Path>
class DatagramSender {
public:
    explicit DatagramSender(const RunParameters& run)
        : run_(run), payload_(run.message_bytes, run.seed),
          sent_at_(run.record_messages ? run.most_messages() : 0) {
        if (run.message_bytes == 0 && run.rate_bit_per_s != 0) {
            throw Failure("bad_request",
                          "empty datagrams carry no bits: leave out rate_bit_per_s, or ask for "
                          "message_bytes of at least 1");
        }
    }

    template <class Clock, class Observer>
    void play(Path& path, const Start& start, const Timebase& timebase, Observer& /*observer*/) {
        const std::uint64_t deadline = run_.count != 0
                                           ? std::numeric_limits<std::uint64_t>::max()
                                           : start.ticks + timebase.to_ticks(run_.duration_ns);
        if (run_.rate_bit_per_s != 0) {
            loop<Clock, true>(path, start, timebase, deadline);
        } else {
            loop<Clock, false>(path, start, timebase, deadline);
        }
        if (path.wait_drained()) {
            drained_ticks_ = Clock::now();
        }
        const bool full = messages_ >= run_.most_messages();
        ended_by_ = run_.count != 0 ? EndedBy::count : full ? EndedBy::samples : EndedBy::duration;
        if constexpr (requires { path.told_to_end(); }) {
            ended_by_ = path.told_to_end() ? EndedBy::interrupt : ended_by_;
        }
    }

    [[nodiscard]] Totals sent() const noexcept {
        return {messages_, messages_ * run_.message_bytes, ended_by_};
    }

    void report(Result& result, const Start& start, const Timebase& timebase) const {
        if (run_.record_messages) {
            result.series.push_back({"sent_ns", "ns", since_ns(sent_at_, start.ticks, timebase)});
        }
        result.counters["last_send_ns"] = timebase.to_ns(last_send_ticks_);
        if (drained_ticks_) {
            result.counters["drained_ns"] = timebase.to_ns(*drained_ticks_);
        }
        result.count("messages_sent", messages_);
        result.count("bytes_sent", messages_ * run_.message_bytes);
        result.ended_by = ended_by_;
    }

private:
    template <class Clock, bool Paced>
    void loop(Path& path, const Start& start, const Timebase& timebase, std::uint64_t deadline) {
        std::span<std::byte> datagram = payload_.bytes();
        const Pace pace(run_, start.ticks, timebase);
        const bool numbered = datagram.size() >= SequenceNumber::bytes;
        if constexpr (InPlaceTransport<Path>) {
            path.fill(datagram);
        }
        const std::uint64_t before_last = run_.most_messages() - 1;
        SequenceNumber number{0, start.batch & SequenceNumber::batch_mask, false};
        std::uint64_t calls = path.calls_sent();
        std::uint64_t now = Clock::now();
        bool last = false;
        do {
            if constexpr (Paced) {
                now = pace.template await<Clock>(number.index, path);
            }
            last = number.index >= before_last ||
                   (now >= deadline && number.index + 1 >= run_.least_count);
            if constexpr (requires { path.told_to_end(); }) {
                last = last || path.told_to_end();
            }
            number.last = last;
            if constexpr (InPlaceTransport<Path>) {
                datagram = path.place();
            }
            if (numbered) {
                number.write(datagram);
            }
            if constexpr (SealingTransport<Path>) {
                path.seal(datagram);
            }
            if constexpr (Paced) {
                note(SealingTransport<Path> ? Clock::now() : now); // a delay begins with the call
            }
            send(path, datagram);
            if constexpr (!Paced) {
                ++unstamped_;
                if (path.calls_sent() != calls) { // where many leave in a call, all have its time
                    calls = path.calls_sent();
                    now = Clock::now();
                    note_call(now);
                }
            }
            ++number.index;
        } while (!last);
        if constexpr (requires { path.flush(); }) {
            path.flush();
        }
        if (Paced || unstamped_ != 0) {
            now = Clock::now();
            note_call(now);
        }
        last_send_ticks_ = now;
        messages_ = number.index;
    }

    void send(Path& path, std::span<const std::byte> datagram) {
        if constexpr (InPlaceTransport<Path>) {
            path.send_placed();
        } else {
            path.send(datagram, run_.call_bytes);
        }
    }

    void note(std::uint64_t now) noexcept {
        if (run_.record_messages) {
            sent_at_.push(now);
        }
    }

    void note_call(std::uint64_t now) noexcept {
        for (; unstamped_ != 0; --unstamped_) {
            note(now);
        }
    }

    RunParameters run_;
    Payload payload_;
    Samples sent_at_;
    std::uint64_t unstamped_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t last_send_ticks_ = 0;
    std::optional<std::uint64_t> drained_ticks_;
    EndedBy ended_by_ = EndedBy::count;
};

// Whether datagrams are taken out of memory, one by one, and no call brings them.
template <class Path>
concept TakesFromMemory = requires {
    requires static_cast<bool>(Path::from_memory);
};

// When the call returned that brought the last datagram: the same for all that it brought.
template <class Clock, class Path>
class CallTime {
public:
    explicit CallTime(const Path& path) noexcept : path_(path), calls_(path.calls_received()) {}

    std::uint64_t time() noexcept {
        if (TakesFromMemory<Path> || path_.calls_received() != calls_) {
            calls_ = path_.calls_received();
            time_ = Clock::now();
        }
        return time_;
    }

private:
    const Path& path_;
    std::uint64_t calls_;
    std::uint64_t time_ = 0;
};

template <DatagramTransport Path>
class DatagramReceiver {
public:
    explicit DatagramReceiver(const RunParameters& run)
        : run_(run), numbered_(run.message_bytes >= SequenceNumber::bytes),
          buffer_(run.message_bytes, run.seed), ledger_(numbered_ ? run.most_messages() : 0),
          received_at_(run.record_messages ? run.most_messages() : 0),
          sequence_(run.record_messages && numbered_ ? run.most_messages() : 0) {}

    // ended(): what the sender said it sent, as an optional; asked only after a silence of the
    // transport's patience.
    template <class Clock, class Ended>
    void play(Path& path, const Start& start, Ended& ended) {
        last_arrival_ticks_ = start.ticks;
        if (numbered_) {
            receive_numbered<Clock>(path, start.batch & SequenceNumber::batch_mask, ended);
        } else {
            receive_plain<Clock>(path, ended);
        }
    }

    [[nodiscard]] Totals received() const noexcept {
        const std::uint64_t messages = numbered_ ? ledger_.received() : plain_received_;
        return {messages, messages * run_.message_bytes, EndedBy::count};
    }
    [[nodiscard]] std::uint64_t last_arrival_ticks() const noexcept { return last_arrival_ticks_; }

    void report(Result& result, const Start& start, const Totals& sent,
                const Timebase& timebase) const {
        if (run_.record_messages) {
            result.series.push_back(
                {"received_ns", "ns", since_ns(received_at_, start.ticks, timebase)});
        }
        if (run_.record_messages && numbered_) {
            result.series.push_back({"sequence", "count", plain(sequence_)});
        }
        const Totals got = received();
        result.count("messages_received", got.messages);
        result.count("bytes_received", got.bytes);
        result.count("lost", sent.messages > got.messages ? sent.messages - got.messages : 0);
        if (numbered_) {
            result.count("duplicates", ledger_.duplicates());
            result.count("reordered", ledger_.reordered());
        }
        if (run_.check_data) {
            result.count("corrupt", corrupt_);
        }
    }

private:
    // Ends when everything up to the marked last datagram is there, or when the sender has finished
    // and nothing has come for the patience.
    template <class Clock, class Ended>
    void receive_numbered(Path& path, std::uint32_t batch, Ended& ended) {
        std::uint64_t expected = std::numeric_limits<std::uint64_t>::max();
        CallTime<Clock, Path> call(path);
        while (ledger_.received() < expected) {
            const Taken taken = take(path);
            const std::uint64_t now = call.time();
            if (taken.bytes == nothing_received && is_over(ended)) {
                return;
            }
            if (taken.bytes != run_.message_bytes) {
                continue;
            }
            const SequenceNumber number = SequenceNumber::read(taken.message);
            if (number.batch != batch || !ledger_.note(number.index)) {
                continue;
            }
            last_arrival_ticks_ = now;
            if (number.last) {
                expected = std::uint64_t{number.index} + 1;
            }
            note(now, number.index, taken.message);
        }
    }

    template <class Clock, class Ended>
    void receive_plain(Path& path, Ended& ended) {
        std::uint64_t expected = run_.most_messages();
        CallTime<Clock, Path> call(path);
        while (plain_received_ < expected) {
            const Taken taken = take(path);
            const std::uint64_t now = call.time();
            if (taken.bytes == nothing_received && is_over(ended)) {
                return;
            }
            if (taken.bytes == run_.message_bytes) {
                ++plain_received_;
                last_arrival_ticks_ = now;
                note(now, 0, taken.message);
            }
        }
    }

    // After a silence. A datagram may be slower than the word that all were sent: one more silence
    // must follow unless all are there.
    template <class Ended>
    bool is_over(Ended& ended) {
        const bool knew = sent_.has_value();
        if (!knew) {
            sent_ = ended();
        }
        return sent_ && (knew || received().messages >= sent_->messages);
    }

    // A datagram, or what is there of one of another length; its bytes may be nothing_received.
    struct Taken {
        std::size_t bytes = 0;
        std::span<const std::byte> message;
    };

    Taken take(Path& path) {
        if constexpr (InPlaceTransport<Path>) {
            const std::span<const std::byte> there = path.look_following();
            return {there.data() == nullptr ? nothing_received : there.size(), there};
        } else {
            const std::span<std::byte> buffer = buffer_.bytes();
            return {path.receive_following(buffer, run_.call_bytes), buffer};
        }
    }

    void note(std::uint64_t now, std::uint64_t index, std::span<const std::byte> message) noexcept {
        if (run_.record_messages) {
            received_at_.push(now);
            if (numbered_) {
                sequence_.push(index);
            }
        }
        if (run_.check_data) {
            const std::size_t skipped = numbered_ ? header_bytes_of<Path>() : 0;
            corrupt_ += content_is_right(message, run_.seed, skipped) ? 0U : 1U;
        }
    }

    RunParameters run_;
    bool numbered_;
    Payload buffer_;
    ArrivalLedger ledger_;
    Samples received_at_;
    Samples sequence_;
    std::optional<Totals> sent_;
    std::uint64_t plain_received_ = 0;
    std::uint64_t corrupt_ = 0;
    std::uint64_t last_arrival_ticks_ = 0;
};

} // namespace sonde
