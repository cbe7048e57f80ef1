// The measured path where messages may be lost: a message is a frame, or several that follow each
// other.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/link/waiter.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Puts fragments together that came one behind the other; where one is missing, the message is.
class LinkAssembly {
public:
    // Takes a fragment, whose content goes to its place in `message`, as far as that reaches. True
    // where it was the last one of a whole message.
    bool take(const LinkSegment& segment, std::span<std::byte> message) noexcept {
        const LinkHeader& header = segment.header;
        const bool follows = open_ && header.sequence == expected_ && !header.first;
        if (!header.first && !follows) {
            broken_ += open_ ? 1U : 0U;
            open_ = false;
            return false;
        }
        if (header.first) {
            broken_ += open_ ? 1U : 0U;
            bytes_ = 0;
        }
        const std::size_t room = message.size() - std::min(bytes_, message.size());
        const std::size_t taken = std::min(room, segment.content.size());
        if (taken != 0) {
            std::memcpy(message.data() + bytes_, segment.content.data(), taken);
        }
        bytes_ += segment.content.size();
        expected_ = (header.sequence + 1U) & LinkHeader::sequence_mask;
        open_ = !header.last;
        return header.last;
    }
    // What has not come whole will not.
    void give_up() noexcept {
        broken_ += open_ ? 1U : 0U;
        open_ = false;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t broken() const noexcept { return broken_; }

private:
    bool open_ = false;
    std::uint32_t expected_ = 0;
    std::size_t bytes_ = 0;
    std::uint64_t broken_ = 0;
};

class LinkRawPath {
public:
    static constexpr bool datagrams = true;
    static constexpr bool concurrent = true;
    static constexpr bool from_memory = true;

    // alive: a connection with the other end, which says that it is still there.
    LinkRawPath(LinkPort& port, LinkWait wait, std::size_t fragment_bytes, int alive,
                const std::atomic<bool>& interrupted)
        : port_(port), waiter_(port, wait), fragment_bytes_(fragment_bytes), alive_(alive),
          interrupted_(interrupted), dropped_before_(port.dropped()),
          copied_before_(port.driver().copied()), frames_sent_before_(port.frames_sent()),
          frames_received_before_(port.frames_received()),
          overflowed_before_(port.driver().overflowed()) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        std::size_t at = 0;
        do {
            const std::size_t piece = std::min(message.size() - at, fragment_bytes_);
            LinkHeader header;
            header.kind = FrameKind::raw;
            header.first = at == 0;
            header.last = at + piece == message.size();
            header.sequence = static_cast<std::uint16_t>(sequence_++ & LinkHeader::sequence_mask);
            while (!port_.send(0, header, message.subspan(at, piece))) {
                await_room();
            }
            at += piece;
        } while (at < message.size());
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        std::int64_t end_ns = 0;
        while (true) {
            while (const auto segment = next()) {
                const bool whole =
                    segment->header.kind == FrameKind::raw && assembly_.take(*segment, message);
                ++copied_;
                port_.release(*segment);
                if (whole) {
                    return assembly_.bytes();
                }
            }
            const std::int64_t now_ns = monotonic_ns();
            end_ns = end_ns == 0 ? now_ns + patience_ns : end_ns;
            if (!waiter_.await(end_ns) && now_ns >= end_ns) {
                return nothing();
            }
        }
    }
    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        return receive(message, call_bytes);
    }

    void drain() {
        while (const auto segment = next()) {
            port_.release(*segment);
        }
        assembly_.give_up();
    }
    void check_interrupted() const {
        if (interrupted_ || given_up_) {
            throw Failure("timeout", "while frames were sent or waited for");
        }
    }
    bool wait_drained() {
        constexpr std::int64_t most_ns = 2'000'000'000;
        const std::int64_t end_ns = monotonic_ns() + most_ns;
        while (!port_.driver().is_drained()) {
            if (monotonic_ns() >= end_ns) {
                return false;
            }
            check_interrupted();
        }
        return true;
    }
    void interrupt() noexcept { given_up_ = true; }

    // A frame's content is copied by the driver, or the kernel for it, and from where it lies to
    // where the program wants it.
    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        const DriverCopies& copied = port_.driver().copied();
        const std::uint64_t sent = port_.frames_sent() - frames_sent_before_;
        const std::uint64_t received = port_.frames_received() - frames_received_before_;
        const LinkDropped& dropped = port_.dropped();
        return {{"frames_sent", sent},
                {"frames_received", received},
                {"driver_copies_sent", copied.sent - copied_before_.sent},
                {"driver_copies_received", copied.received - copied_before_.received},
                {"own_copies_sent", 0},
                {"own_copies_received", copied_},
                {"strangers", dropped.strangers - dropped_before_.strangers},
                {"malformed", dropped.malformed - dropped_before_.malformed},
                {"no_room", dropped.no_room - dropped_before_.no_room +
                                (port_.driver().overflowed() - overflowed_before_)},
                {"incomplete", assembly_.broken()},
                {"sleeps", waiter_.sleeps()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return port_.driver().calls_sent(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept {
        return port_.driver().calls_received();
    }

private:
    static constexpr std::int64_t patience_ns = 200'000'000;

    std::optional<LinkSegment> next() {
        auto found = port_.next(0);
        return found || !port_.deliver() ? found : port_.next(0);
    }

    void await_room() const {
        pollfd one{port_.driver().fd(), POLLOUT, 0};
        ::poll(&one, 1, 1);
        check_interrupted();
    }

    // After a silence.
    std::size_t nothing() {
        assembly_.give_up();
        check_interrupted();
        std::byte byte{};
        if (::recv(alive_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
            throw Failure("peer_lost", "the other end is gone: its connection has ended");
        }
        return nothing_received;
    }

    LinkPort& port_;
    LinkWaiter waiter_;
    std::size_t fragment_bytes_;
    int alive_;
    const std::atomic<bool>& interrupted_;
    std::atomic<bool> given_up_ = false;
    LinkAssembly assembly_;
    std::uint32_t sequence_ = 0;
    LinkDropped dropped_before_;
    DriverCopies copied_before_;
    std::uint64_t copied_ = 0; // by this end, to where the program wants it
    std::uint64_t frames_sent_before_;
    std::uint64_t frames_received_before_;
    std::uint64_t overflowed_before_;
};

static_assert(DatagramTransport<LinkRawPath>);
static_assert(ConcurrentTransport<LinkRawPath>);

} // namespace sonde
