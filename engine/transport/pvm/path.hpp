// Two tasks of a virtual machine as the two ends of a test.
//
// A message is packed, sent, received and unpacked as programs do: its words of four bytes as
// integers, which XDR turns round where an encoding wants that, and what is left of it as bytes.
#pragma once

#include <pvm3.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "transport/pvm/library.hpp"
#include "transport/transport.hpp"

namespace sonde::pvm {

// Of messages, frames of the control channel, credits of a stream, and the greeting.
enum Tag : int { data_tag = 1, control_tag, credit_tag, greeting_tag };

// PVM counts what it packs in an int. Throws Failure("bad_request").
void require_countable(std::size_t message_bytes);

// The rest of a message behind its whole words.
constexpr std::size_t word_bytes = sizeof(int);

inline void pack(std::span<const std::byte> message) {
    // The library takes no constant; it changes nothing.
    auto* const begin = const_cast<std::byte*>(message.data()); // NOLINT(*-const-cast)
    const std::size_t words = message.size() / word_bytes;
    if (words != 0) {
        checked(::pvm_pkint(reinterpret_cast<int*>(begin), static_cast<int>(words), 1),
                "pack a message");
    }
    if (const std::size_t rest = message.size() % word_bytes; rest != 0) {
        checked(::pvm_pkbyte(reinterpret_cast<char*>(begin + words * word_bytes),
                             static_cast<int>(rest), 1),
                "pack a message");
    }
}

inline void unpack(std::span<std::byte> message) {
    const std::size_t words = message.size() / word_bytes;
    if (words != 0) {
        checked(::pvm_upkint(reinterpret_cast<int*>(message.data()), static_cast<int>(words), 1),
                "unpack a message");
    }
    if (const std::size_t rest = message.size() % word_bytes; rest != 0) {
        checked(::pvm_upkbyte(reinterpret_cast<char*>(message.data() + words * word_bytes),
                              static_cast<int>(rest), 1),
                "unpack a message");
    }
}

// Packing and unpacking are part of what is timed.
class Path {
public:
    static constexpr bool datagrams = false;

    Path(int peer, int encoding) : peer_(peer), encoding_(encoding) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        checked(::pvm_initsend(encoding_), "begin a message");
        pack(message);
        checked(::pvm_send(peer_, data_tag), "send a message");
        ++calls_sent_;
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        checked(::pvm_recv(peer_, data_tag), "receive a message");
        unpack(message);
        ++calls_received_;
        return message.size();
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

protected:
    [[nodiscard]] int peer() const noexcept { return peer_; }

private:
    int peer_;
    int encoding_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

static_assert(MessageTransport<Path>);

// Only sending and receiving are timed. The origin packs once, before the clock starts, and unpacks
// only where content is checked, between an end and the next beginning; the target sends back what
// it received as it came.
class PackedPath {
public:
    static constexpr bool datagrams = false;

    PackedPath(int peer, int encoding) : peer_(peer), encoding_(encoding) {}

    // Before the first message: what send() sends from now on.
    void prepare(std::span<const std::byte> message) const {
        checked(::pvm_initsend(encoding_), "begin a message");
        pack(message);
    }
    // The message that was received last.
    void take(std::span<std::byte> message) {
        if (forwarded_ != 0) { // it became what is sent
            checked(::pvm_setsbuf(0), "go back to a message");
            checked(::pvm_setrbuf(std::exchange(forwarded_, 0)), "go back to a message");
        }
        unpack(message);
    }

    void send(std::span<const std::byte> /*message*/, std::size_t /*call_bytes*/) {
        if (received_ != 0) {
            forwarded_ = received_;
            checked(::pvm_setrbuf(0), "set a message aside");
            ::pvm_freebuf(
                checked(::pvm_setsbuf(forwarded_), "send a message back")); // the last one
        }
        checked(::pvm_send(peer_, data_tag), "send a message");
        ++calls_sent_;
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        const int buffer = checked(::pvm_recv(peer_, data_tag), "receive a message");
        received_ = answers_ ? buffer : 0;
        ++calls_received_;
        return message.size();
    }

    // This end sends back what it received.
    void answer_as_received() noexcept { answers_ = true; }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

private:
    int peer_;
    int encoding_;
    bool answers_ = false;
    int received_ = 0;  // the message that came last, where this end answers with it
    int forwarded_ = 0; // the one that was sent back last
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

static_assert(PackingTransport<PackedPath>);

// What a stream may have on its way over the daemons: they queue without limit, and a sender that
// is faster than the way would fill the memory of its host.
constexpr std::size_t window_bytes = std::size_t{8} << 20U;

// A path of a stream: for each half of the window that the receiver took, it sends a credit.
class StreamPath : public Path {
public:
    using Path::Path;

    void send(std::span<const std::byte> message, std::size_t call_bytes) {
        while (under_way_bytes_ != 0 && under_way_bytes_ + message.size() > window_bytes) {
            take_credit();
        }
        Path::send(message, call_bytes);
        under_way_bytes_ += message.size();
    }

    std::size_t receive(std::span<std::byte> message, std::size_t call_bytes) {
        const std::size_t got = Path::receive(message, call_bytes);
        taken_bytes_ += got;
        while (taken_bytes_ >= credit_bytes) {
            checked(::pvm_initsend(PvmDataRaw), "begin a credit");
            checked(::pvm_send(peer(), credit_tag), "send a credit");
            taken_bytes_ -= credit_bytes;
        }
        return got;
    }

    // After the last message has arrived: takes the credits that are left.
    void end() {
        while (under_way_bytes_ >= credit_bytes) {
            take_credit();
        }
    }

private:
    static constexpr std::size_t credit_bytes = window_bytes / 2;

    void take_credit() {
        checked(::pvm_recv(peer(), credit_tag), "wait for the receiver");
        under_way_bytes_ -= credit_bytes;
    }

    std::size_t under_way_bytes_ = 0;
    std::size_t taken_bytes_ = 0;
};

static_assert(MessageTransport<StreamPath>);

// The frames of pre- and post-synchronisation, as messages of their own tag.
class Control {
public:
    explicit Control(int peer) : peer_(peer) {}

    void send(const Frame& frame) const;
    Frame expect(Frame::Kind kind) const;

private:
    int peer_;
};

static_assert(ControlChannel<Control>);

} // namespace sonde::pvm
