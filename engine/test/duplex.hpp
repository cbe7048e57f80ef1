// duplex: both ends send and receive at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "test/datagram_stream.hpp"
#include "test/stream.hpp"

namespace sonde {

template <class Path>
struct EndsOver {
    using Sender = StreamSender<Path>;
    using Receiver = StreamReceiver<Path>;
};
template <DatagramTransport Path>
struct EndsOver<Path> {
    using Sender = DatagramSender<Path>;
    using Receiver = DatagramReceiver<Path>;
};
template <class Path>
using SenderOver = typename EndsOver<Path>::Sender;
template <class Path>
using ReceiverOver = typename EndsOver<Path>::Receiver;

// What the thread that owns the control channel tells the receiving thread.
class PeerSent {
public:
    void set(const Totals& totals) {
        const std::scoped_lock lock(mutex_);
        totals_ = totals;
    }
    [[nodiscard]] std::optional<Totals> get() const {
        const std::scoped_lock lock(mutex_);
        return totals_;
    }

private:
    mutable std::mutex mutex_;
    std::optional<Totals> totals_;
};

// A thread whose exception comes out of join(), and which is joined on every way out.
class ReceivingThread {
public:
    // give_up: frees both this thread and the one that sends from what they wait for.
    ReceivingThread(std::function<void()> body, std::function<void()> give_up)
        : give_up_(std::move(give_up)), thread_([this, body = std::move(body)] {
              try {
                  body();
              } catch (...) {
                  failure_ = std::current_exception();
                  failed_first_ = !failed_.exchange(true);
                  give_up_();
              }
          }) {}
    ~ReceivingThread() {
        if (thread_.joinable()) {
            give_up_();
            thread_.join();
        }
    }
    ReceivingThread(const ReceivingThread&) = delete;
    ReceivingThread& operator=(const ReceivingThread&) = delete;

    void join() {
        thread_.join();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

    // The sending thread failed: throws the failure of the two that came first, the other being
    // its consequence. Call it in the handler.
    [[noreturn]] void fail() {
        failed_ = true;
        give_up_();
        thread_.join();
        if (failure_ && failed_first_) {
            std::rethrow_exception(failure_);
        }
        throw;
    }

private:
    std::function<void()> give_up_;
    std::exception_ptr failure_;
    std::atomic<bool> failed_ = false;
    bool failed_first_ = false;
    std::thread thread_; // last: it uses the others
};

// Lock-step for transports that one thread drives: each exchange sends one message and receives
// one. Rank 0 ends it by the mark of stream.hpp; as exchanges pair up, both ends make as many.
template <ExchangeTransport Path>
class ExchangeEnd {
public:
    ExchangeEnd(const RunParameters& run, int rank)
        : run_(run), rank_(rank), out_(run.message_bytes, run.seed),
          in_(run.message_bytes, run.seed),
          done_at_(run.record_messages ? run.most_messages() : 0) {
        if (run.message_bytes == 0) {
            throw Failure("bad_request", "an exchange of empty messages has no throughput: "
                                         "message_bytes must be at least 1");
        }
    }

    template <class Clock>
    void play(Path& path, const Start& start, const Timebase& timebase) {
        const std::uint64_t deadline = run_.count != 0
                                           ? std::numeric_limits<std::uint64_t>::max()
                                           : start.ticks + timebase.to_ticks(run_.duration_ns);
        const std::byte ordinary = in_.bytes()[0];
        const std::uint64_t before_last = run_.most_messages() - 1;
        std::uint64_t now = Clock::now();
        bool last = false;
        while (!last) {
            last = rank_ == 0 && (messages_ >= before_last || now >= deadline);
            if (last) {
                out_.bytes()[0] = ~ordinary;
            }
            path.exchange(out_.bytes(), in_.bytes());
            now = Clock::now();
            ++messages_;
            if (run_.record_messages) {
                done_at_.push(now);
            }
            if (run_.check_data) {
                corrupt_ += content_is_right(in_.bytes(), run_.seed, 1) ? 0U : 1U;
            }
            last = last || (rank_ != 0 && in_.bytes()[0] != ordinary);
        }
        end_ticks_ = now;
        const bool full = messages_ >= run_.most_messages();
        ended_by_ = run_.count != 0 ? EndedBy::count : full ? EndedBy::samples : EndedBy::duration;
    }

    [[nodiscard]] Totals totals() const noexcept {
        return {messages_, messages_ * run_.message_bytes, ended_by_};
    }
    [[nodiscard]] std::uint64_t last_arrival_ticks() const noexcept { return end_ticks_; }

    void report(Result& result, const Start& start, const Timebase& timebase) const {
        if (run_.record_messages) {
            auto done_ns = since_ns(done_at_, start.ticks, timebase);
            result.series.push_back({"sent_ns", "ns", done_ns});
            result.series.push_back({"received_ns", "ns", std::move(done_ns)});
        }
        result.counters["last_send_ns"] = timebase.to_ns(end_ticks_);
        result.counters["last_arrival_ns"] = timebase.to_ns(end_ticks_);
        result.count("messages_sent", messages_);
        result.count("bytes_sent", messages_ * run_.message_bytes);
        result.count("messages_received", messages_);
        result.count("bytes_received", messages_ * run_.message_bytes);
        if (run_.check_data) {
            result.count("corrupt", corrupt_);
        }
        result.ended_by = ended_by_;
    }

private:
    RunParameters run_;
    int rank_;
    Payload out_;
    Payload in_;
    Samples done_at_;
    std::uint64_t messages_ = 0;
    std::uint64_t corrupt_ = 0;
    std::uint64_t end_ticks_ = 0;
    EndedBy ended_by_ = EndedBy::count;
};

} // namespace sonde
