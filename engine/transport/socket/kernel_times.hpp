// The kernel's own times of messages on their way through this host (SO_TIMESTAMPING, software
// stamps): when they reached the device's queue, when the driver got them, when they arrived.
//
// Stamps of what was sent come back on the socket's error queue, with a number: of the datagram, or
// of a message's last byte in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "transport/socket/receivings.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Lets the kernel stamp arrivals, and waits (at most a second) until it does; false where it
// cannot.
[[nodiscard]] bool stamp_arrivals(int fd);

// Which of `sent` messages of `bytes` each a stamp's number means, or UINT64_MAX: in a stream that
// of the last byte of a message. The kernel counts in 32 bits; what it speaks of is not older than
// that.
[[nodiscard]] std::uint64_t stamped_message(std::uint32_t number, std::uint64_t sent,
                                            std::size_t bytes, bool datagrams) noexcept;

class SendStamps {
public:
    // Asks for stamps of `messages` messages of equal length that are sent from now on. A stream
    // must have nothing under way. Throws Failure("system") where the kernel refuses.
    SendStamps(int fd, bool datagrams, std::uint64_t messages);
    ~SendStamps();
    SendStamps(const SendStamps&) = delete;
    SendStamps& operator=(const SendStamps&) = delete;

    // A whole message was handed over.
    void sent(std::size_t bytes) noexcept {
        bytes_ = bytes;
        ++sent_;
    }
    // Takes what is there, never waiting; stops as soon as nothing is missing.
    void collect() noexcept;
    // Waits for what is missing, at most for a tenth of a second.
    void await_missing() noexcept;
    // In the order of sending.
    [[nodiscard]] std::span<const MessageStamps> stamps() const noexcept {
        return {stamps_.data(),
                sent_ < stamps_.size() ? static_cast<std::size_t>(sent_) : stamps_.size()};
    }

private:
    [[nodiscard]] bool is_missing() const noexcept { return complete_ < sent_; }
    // False where the queue is empty.
    bool take_one() noexcept;
    void note(std::uint32_t kind, std::uint32_t number, std::int64_t time_ns) noexcept;

    int fd_;
    bool datagrams_;
    std::vector<MessageStamps> stamps_;
    std::size_t bytes_ = 0; // of a message
    std::uint64_t sent_ = 0;
    std::uint64_t complete_ = 0;
};

// A path whose messages are stamped. Base takes arrivals with StampedReceiving.
template <class Base>
class StampedPath : public Base {
public:
    static constexpr bool concurrent = false; // one exchange after the other
    static constexpr Traffic traffic = Traffic::answered;

    template <class... Arguments>
    StampedPath(int fd, std::uint64_t messages, Arguments&&... arguments)
        : Base(fd, std::forward<Arguments>(arguments)...), stamps_(fd, Base::datagrams, messages) {}

    void send(std::span<const std::byte> message, std::size_t call_bytes) {
        Base::send(message, call_bytes);
        stamps_.sent(message.size());
    }
    void collect_stamps() noexcept { stamps_.collect(); }
    void await_stamps() noexcept { stamps_.await_missing(); }
    [[nodiscard]] std::span<const MessageStamps> stamps() const noexcept {
        return stamps_.stamps();
    }
    [[nodiscard]] std::int64_t arrival_ns() const noexcept { return this->taking().arrival_ns(); }

private:
    SendStamps stamps_;
};

} // namespace sonde
