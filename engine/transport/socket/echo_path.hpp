// The measured path over ICMP echoes: a message goes out in a request and comes back in its answer.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/socket/echoes.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/waits.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Waits as UdpPath does. What is no whole answer to an echo of this socket is counted and passed
// over, and does not prolong the patience.
template <WaitPolicy Wait>
class EchoPath : private UdpPath<Wait> {
    using Base = UdpPath<Wait>;

public:
    static constexpr bool datagrams = true;
    using Base::calls_received;
    using Base::calls_sent;
    using Base::drain;

    // The socket gives up receive calls after the patience of datagrams. echoes must outlive this.
    EchoPath(int fd, Echoes& echoes, const std::atomic<bool>& interrupted)
        : Base(fd, interrupted), echoes_(echoes) {}

    void number_next(std::uint64_t number) noexcept { sequence_ = echoes_.next_sequence(number); }
    [[nodiscard]] std::uint64_t received_number() const noexcept { return received_number_; }

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        EchoHeader::Packed header = echoes_.request(sequence_, message);
        std::array<iovec, 2> parts{
            {{header.data(), header.size()},
             {const_cast<std::byte*>(message.data()), message.size()}}}; // NOLINT: not written to
        msghdr packet{};
        packet.msg_iov = parts.data();
        packet.msg_iovlen = parts.size();
        given_up_ns_ = monotonic_ns() + datagram_patience_ns;
        while (::sendmsg(this->fd(), &packet, MSG_NOSIGNAL | Wait::flags) < 0) {
            this->wait_to_send();
        }
        this->count_sent();
    }

    // A process that was not scheduled for long finds its answer there, behind others perhaps: once
    // time is up, what has arrived is looked through before the answer is given up.
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        bool late = false;
        for (std::size_t left = most_looked_through; left != 0;) {
            const Taken taken = take(message, late ? MSG_DONTWAIT : Wait::flags);
            if (taken == Taken::answer) {
                this->count_received();
                return message.size();
            }
            if (late && taken == Taken::nothing) {
                break;
            }
            left -= late ? 1U : 0U;
            late = late || monotonic_ns() >= given_up_ns_;
            if (!late && taken == Taken::nothing) {
                Wait::await(this->fd(), POLLIN);
            }
        }
        return nothing_received;
    }

    // Packets that were no whole answer to an echo of this socket.
    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"foreign_packets", foreign_}};
    }

private:
    enum class Taken : std::uint8_t { answer, foreign, nothing };
    // More than a usual receive buffer holds.
    static constexpr std::size_t most_looked_through = 4096;

    Taken take(std::span<std::byte> message, int flags) {
        std::array<std::byte, most_front_bytes> front{};
        const std::span<std::byte> filled(front.data(), echoes_.front_bytes());
        std::array<iovec, 2> parts{
            {{filled.data(), filled.size()}, {message.data(), message.size()}}};
        msghdr packet{};
        packet.msg_iov = parts.data();
        packet.msg_iovlen = parts.size();
        const ssize_t got = ::recvmsg(this->fd(), &packet, flags);
        if (got < 0) {
            require_nothing();
            return Taken::nothing;
        }
        const std::size_t whole = filled.size() + message.size();
        if (static_cast<std::size_t>(got) == whole && (packet.msg_flags & MSG_TRUNC) == 0 &&
            is_answer(filled)) {
            return Taken::answer;
        }
        this->check_interrupted(); // a socket that was shut down reads as empty packets
        ++foreign_;
        return Taken::foreign;
    }

    bool is_answer(std::span<const std::byte> front) noexcept {
        const auto sequence = echoes_.answered(front);
        const auto number = sequence ? echoes_.number_of(*sequence) : std::nullopt;
        received_number_ = number.value_or(received_number_);
        return number.has_value();
    }

    void require_nothing() {
        if (errno == ECONNREFUSED) {
            throw Failure("refused", "the target refuses ICMP echoes; is a firewall in between?");
        }
        this->require_nothing_yet();
    }

    Echoes& echoes_;
    std::uint16_t sequence_ = 0;
    std::uint64_t received_number_ = 0;
    std::int64_t given_up_ns_ = 0;
    std::uint64_t foreign_ = 0;
};

static_assert(NumberedTransport<EchoPath<BlockingWait>>);

} // namespace sonde
