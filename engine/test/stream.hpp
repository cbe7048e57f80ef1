// stream over a transport that loses nothing: rank 0 sends messages for a duration or a count.
//
// The first byte of the last message is inverted. So the receiver, which cannot know how many
// messages fit into a duration, needs nothing but the messages to know that it has them all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Something that wants to look at the path between messages, e.g. at TCP_INFO.
template <class T>
concept PathObserver = requires(T& t, std::uint64_t now, Result& result, const Start& start) {
    { T::active } -> std::convertible_to<bool>;
    { t.at(now) } -> std::same_as<void>;
};

struct NoObserver {
    static constexpr bool active = false;
    void at(std::uint64_t /*now*/) noexcept {}
};

template <MessageTransport Path>
class StreamSender {
public:
    explicit StreamSender(const RunParameters& run)
        : run_(run), payload_(run.message_bytes, run.seed),
          sent_at_(run.record_messages ? run.most_messages() : 0) {
        if (run.message_bytes == 0) {
            throw Failure("bad_request", "a stream of empty messages has no throughput: "
                                         "message_bytes must be at least 1");
        }
        if (run.rate_bit_per_s != 0) {
            throw Failure("bad_request", "rate_bit_per_s is for datagrams; a stream transport "
                                         "goes as fast as its flow control lets it");
        }
    }

    template <class Clock, PathObserver Observer>
    void play(Path& path, const Start& start, const Timebase& timebase, Observer& observer) {
        const std::uint64_t deadline = run_.count != 0
                                           ? std::numeric_limits<std::uint64_t>::max()
                                           : start.ticks + timebase.to_ticks(run_.duration_ns);
        if (run_.record_messages) {
            loop<Clock, true>(path, deadline, observer);
        } else {
            loop<Clock, false>(path, deadline, observer);
        }
        const bool full = messages_ >= run_.most_messages();
        ended_by_ = run_.count != 0 ? EndedBy::count : full ? EndedBy::samples : EndedBy::duration;
    }

    [[nodiscard]] Totals sent() const noexcept {
        return {messages_, messages_ * run_.message_bytes, ended_by_};
    }

    void report(Result& result, const Start& start, const Timebase& timebase) const {
        if (run_.record_messages) {
            result.series.push_back({"sent_ns", "ns", since_ns(sent_at_, start.ticks, timebase)});
        }
        result.counters["last_send_ns"] = timebase.to_ns(last_send_ticks_);
        result.count("messages_sent", messages_);
        result.count("bytes_sent", messages_ * run_.message_bytes);
        result.ended_by = ended_by_;
    }

private:
    template <class Clock, bool Record, PathObserver Observer>
    void loop(Path& path, std::uint64_t deadline, Observer& observer) {
        const std::span<const std::byte> message = payload_.bytes();
        const std::size_t call_bytes = run_.call_bytes;
        const std::uint64_t before_last = run_.most_messages() - 1;
        std::uint64_t sent = 0;
        std::uint64_t now = Clock::now();
        while (sent < before_last && (now < deadline || sent + 1 < run_.least_count)) {
            path.send(message, call_bytes);
            now = Clock::now();
            ++sent;
            if constexpr (Record) {
                sent_at_.push(now);
            }
            if constexpr (Observer::active) {
                observer.at(now);
            }
        }
        settle(path);
        payload_.bytes()[0] = ~payload_.bytes()[0];
        path.send(message, call_bytes);
        settle(path);
        last_send_ticks_ = Clock::now();
        if constexpr (Record) {
            sent_at_.push(last_send_ticks_);
        }
        messages_ = sent + 1;
    }

    static void settle(Path& path) {
        if constexpr (PostingTransport<Path>) {
            path.settle();
        }
    }

    RunParameters run_;
    Payload payload_;
    Samples sent_at_;
    std::uint64_t messages_ = 0;
    std::uint64_t last_send_ticks_ = 0;
    EndedBy ended_by_ = EndedBy::count;
};

template <MessageTransport Path>
class StreamReceiver {
public:
    explicit StreamReceiver(const RunParameters& run)
        : run_(run), buffer_(run.message_bytes, run.seed),
          received_at_(run.record_messages ? run.most_messages() : 0) {}

    template <class Clock>
    void play(Path& path) {
        if (run_.check_data) {
            loop<Clock, true, true>(path);
        } else if constexpr (ByteTransport<Path>) {
            take_bytes<Clock>(path);
        } else if (run_.record_messages) {
            loop<Clock, true, false>(path);
        } else {
            loop<Clock, false, false>(path);
        }
    }

    [[nodiscard]] Totals received() const noexcept {
        return {messages_, messages_ * run_.message_bytes, EndedBy::count};
    }
    [[nodiscard]] std::uint64_t last_arrival_ticks() const noexcept { return last_arrival_ticks_; }

    void report(Result& result, const Start& start, const Timebase& timebase) const {
        if (run_.record_messages) {
            result.series.push_back(
                {"received_ns", "ns", since_ns(received_at_, start.ticks, timebase)});
        }
        result.count("messages_received", messages_);
        result.count("bytes_received", messages_ * run_.message_bytes);
        if (run_.check_data) {
            result.count("corrupt", corrupt_);
        }
    }

private:
    template <class Clock, bool Record, bool Check>
    void loop(Path& path) {
        const std::span<std::byte> buffer = buffer_.bytes();
        [[maybe_unused]] const std::size_t call_bytes = run_.call_bytes;
        const std::uint64_t most = run_.most_messages();
        const std::byte ordinary = buffer[0];
        std::uint64_t received = 0;
        std::span<std::byte> message = buffer;
        do {
            if constexpr (PostingTransport<Path>) {
                message = path.receive_next(buffer);
            } else {
                path.receive(buffer, call_bytes);
            }
            ++received;
            if constexpr (Record) {
                note(Clock::now());
            }
            if constexpr (Check) {
                check(message);
            }
        } while (message[0] == ordinary && received < most);
        last_arrival_ticks_ = Clock::now();
        if constexpr (PostingTransport<Path>) {
            path.withdraw();
        }
        messages_ = received;
    }

    // Every call asks for as much as a call may bring, wherever messages end. Asking for the rest
    // of each message would take more calls.
    template <class Clock>
    void take_bytes(Path& path) {
        const std::byte ordinary = buffer_.bytes()[0];
        const std::span<std::byte> piece =
            buffer_.bytes().first(std::min(run_.call_bytes, run_.message_bytes));
        const std::uint64_t most = run_.most_messages();
        std::size_t missing = run_.message_bytes; // of the message under way
        bool last = false;
        while (!last || missing != run_.message_bytes) {
            const std::size_t got = path.receive_some(piece);
            last_arrival_ticks_ = Clock::now();
            for (std::size_t at = 0; at < got;) {
                if (missing == run_.message_bytes) {
                    last = piece[at] != ordinary || messages_ + 1 >= most;
                }
                const std::size_t taken = std::min(missing, got - at);
                at += taken;
                missing -= taken;
                if (missing == 0) {
                    missing = run_.message_bytes;
                    ++messages_;
                    note(last_arrival_ticks_);
                    at = last ? got : at; // nothing may follow
                }
            }
        }
    }

    void note(std::uint64_t now) noexcept {
        if (run_.record_messages) {
            received_at_.push(now);
        }
    }

    // The first byte may be the mark; the rest must be the seed's. It is spoilt afterwards, so that
    // a message that does not arrive cannot pass for its predecessor.
    void check(std::span<std::byte> message) noexcept {
        corrupt_ += content_is_right(message, run_.seed, 1) ? 0U : 1U;
        forget_content(message.subspan(1));
    }

    RunParameters run_;
    Payload buffer_;
    Samples received_at_;
    std::uint64_t messages_ = 0;
    std::uint64_t corrupt_ = 0;
    std::uint64_t last_arrival_ticks_ = 0;
};

} // namespace sonde
