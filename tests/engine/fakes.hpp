// Transports that are not there: two ends in one process, with losses and disorder as told.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/failure.hpp"
#include "transport/transport.hpp"

namespace sonde::fakes {

// A queue between two threads; closed, it wakes who waits.
template <class Item>
class Queue {
public:
    void put(Item item) {
        {
            const std::scoped_lock lock(mutex_);
            items_.push_back(std::move(item));
        }
        there_.notify_all();
    }
    std::optional<Item> take(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        there_.wait_for(lock, patience, [this] { return !items_.empty() || closed_; });
        if (items_.empty()) {
            return std::nullopt;
        }
        Item item = std::move(items_.front());
        items_.pop_front();
        return item;
    }
    bool empty() {
        const std::scoped_lock lock(mutex_);
        return items_.empty();
    }
    void close() {
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        there_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable there_;
    std::deque<Item> items_;
    bool closed_ = false;
};

using Message = std::vector<std::byte>;
constexpr std::chrono::milliseconds long_time{5'000};
constexpr std::chrono::milliseconds short_time{20};

class Control {
public:
    Control(Queue<Frame>& out, Queue<Frame>& in) : out_(out), in_(in) {}
    void send(const Frame& frame) { out_.put(frame); }
    Frame expect(Frame::Kind kind) {
        const auto frame = in_.take(long_time);
        if (!frame || frame->kind != kind) {
            throw Failure("peer_lost", "another frame than expected, or none");
        }
        return *frame;
    }
    bool arrived() { return !in_.empty(); }

private:
    Queue<Frame>& out_;
    Queue<Frame>& in_;
};

// Whole messages, in order, none lost.
class Stream {
public:
    static constexpr bool datagrams = false;
    static constexpr bool concurrent = true;

    Stream(Queue<Message>& out, Queue<Message>& in) : out_(out), in_(in) {}
    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++calls_sent_;
        Message copy(message.begin(), message.end());
        if (spoil && spoil(calls_sent_ - 1)) {
            copy.back() = ~copy.back();
        }
        out_.put(std::move(copy));
    }
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        const auto got = in_.take(long_time);
        if (!got) {
            throw Failure("peer_lost", "nothing came");
        }
        ++calls_received_;
        std::memcpy(message.data(), got->data(), got->size());
        return got->size();
    }
    [[nodiscard]] std::uint64_t calls_sent() const { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const { return calls_received_; }
    void interrupt() {
        out_.close();
        in_.close();
    }

    std::function<bool(std::uint64_t)> spoil; // which messages, by number of the call

private:
    Queue<Message>& out_;
    Queue<Message>& in_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

// As Stream, but one thread does both at once.
class Exchange : public Stream {
public:
    static constexpr bool concurrent = false;
    using Stream::Stream;
    void exchange(std::span<const std::byte> out, std::span<std::byte> in) {
        send(out, out.size());
        receive(in, in.size());
    }
};

// What becomes of a datagram: how many copies arrive, and after how many later ones.
struct Fate {
    int copies = 1;
    int behind = 0;
};

class Datagrams {
public:
    static constexpr bool datagrams = true;
    static constexpr bool concurrent = true;

    Datagrams(Queue<Message>& out, Queue<Message>& in) : out_(out), in_(in) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        const std::uint64_t number = calls_sent_++;
        const Fate what = fate ? fate(number) : Fate{};
        for (int copy = 0; copy < what.copies; ++copy) {
            held_.push_back({number + static_cast<std::uint64_t>(what.behind),
                             Message(message.begin(), message.end())});
        }
        release(number);
    }
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        const auto got = in_.take(short_time);
        if (!got) {
            return nothing_received;
        }
        ++calls_received_;
        if (!got->empty()) {
            std::memcpy(message.data(), got->data(), std::min(message.size(), got->size()));
        }
        return got->size();
    }
    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        return receive(message, call_bytes);
    }
    void drain() {
        while (!in_.empty()) {
            in_.take(short_time);
        }
    }
    void check_interrupted() const {}
    bool wait_drained() {
        release(~std::uint64_t{0}); // what is held back arrives after all
        return true;
    }
    [[nodiscard]] std::uint64_t calls_sent() const { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const { return calls_received_; }
    void interrupt() {}

    std::function<Fate(std::uint64_t)> fate; // by number of the call

private:
    struct Held {
        std::uint64_t until;
        Message message;
    };

    void release(std::uint64_t number) {
        std::vector<Held> staying;
        for (auto& one : held_) {
            if (one.until <= number) {
                out_.put(std::move(one.message));
            } else {
                staying.push_back(std::move(one));
            }
        }
        held_ = std::move(staying);
    }

    Queue<Message>& out_;
    Queue<Message>& in_;
    std::vector<Held> held_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

// Both ends of a path and of its control channel.
template <class Path>
struct Pair {
    Queue<Message> there;
    Queue<Message> back;
    Queue<Frame> control_there;
    Queue<Frame> control_back;
    Path origin{there, back};
    Path target{back, there};
    Control origin_control{control_there, control_back};
    Control target_control{control_back, control_there};
};

} // namespace sonde::fakes
