// The measured path over a datagram socket that is connected to exactly one peer.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/socket/receivings.hpp"
#include "transport/socket/waits.hpp"
#include "transport/transport.hpp"

namespace sonde {

constexpr std::int64_t datagram_patience_ns = 200'000'000;
// About 2 us, where a sleep and its wake-up take 5 to 50 us.
constexpr int usual_asks = 8;

// receive() waits for the patience: by SO_RCVTIMEO when it blocks (set by the session), else by
// the clock.
template <WaitPolicy Wait, Receiving Taking = PlainReceiving>
class UdpPath {
public:
    static constexpr bool datagrams = true;
    static constexpr bool concurrent = true;

    // asks_before_sleep: how often a receiver of a stream asks without waiting before it waits.
    UdpPath(int fd, const std::atomic<bool>& interrupted, int asks_before_sleep = usual_asks)
        : fd_(fd), asks_before_sleep_(asks_before_sleep), interrupted_(interrupted) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        while (::send(fd_, message.data(), message.size(), MSG_NOSIGNAL | Wait::flags) < 0) {
            wait_to_send();
        }
        ++calls_sent_;
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        return taken(ask(message, Wait::flags), message);
    }

    // A receiver that is faster than the sender would sleep after every few datagrams, and it is
    // the sender that pays for waking it. To ask some times more costs far less than one sleep.
    std::size_t receive_following(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        for (int left = asks_before_sleep_; left > 0; --left) {
            const ssize_t got = ask(message, MSG_DONTWAIT);
            if (got >= 0 || errno != EAGAIN) {
                return taken(got, message);
            }
        }
        return taken(ask(message, Wait::flags), message);
    }

    void drain() {
        std::byte ignored{};
        while (::recv(fd_, &ignored, 1, MSG_DONTWAIT) >= 0 || errno == ECONNREFUSED) {
            check_interrupted(); // a socket that was shut down is readable for ever
        }
    }

    void check_interrupted() const {
        if (interrupted_ || given_up_) {
            throw Failure("timeout", "while datagrams were sent or waited for");
        }
    }

    // Until the kernel holds no datagram of this socket any more, at most 2 s.
    bool wait_drained() {
        const std::int64_t end_ns = monotonic_ns() + 2'000'000'000;
        while (monotonic_ns() < end_ns) {
            int queued_bytes = 0;
            if (::ioctl(fd_, SIOCOUTQ, &queued_bytes) != 0) {
                return false;
            }
            if (queued_bytes == 0) {
                return true;
            }
            check_interrupted();
        }
        return false;
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }
    void interrupt() noexcept {
        given_up_ = true;
        ::shutdown(fd_, SHUT_RDWR);
    }

protected:
    [[nodiscard]] int asks_before_sleep() const noexcept { return asks_before_sleep_; }
    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] const Taking& taking() const noexcept { return taking_; }
    void count_sent() noexcept { ++calls_sent_; }
    void count_received() noexcept { ++calls_received_; }

    // After a call that failed, with its errno: returns where another may do.
    void wait_to_send() {
        // EAGAIN: the send buffer is full; ENOBUFS: the device's queue is, for a moment.
        if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
            throw lost("sending");
        }
        if (errno == EAGAIN) {
            Wait::await(fd_, POLLOUT);
        }
        check_interrupted();
    }
    void require_nothing_yet() {
        if (errno != EAGAIN && errno != EINTR) {
            throw lost("receiving");
        }
        check_interrupted();
    }

private:
    [[nodiscard]] ssize_t ask(std::span<std::byte> message, int flags) noexcept {
        // MSG_TRUNC: the true length of a datagram that is longer than the message.
        return taking_.receive(fd_, message, MSG_TRUNC | flags);
    }

    std::size_t taken(ssize_t got, std::span<std::byte> message) {
        if (got <= 0) [[unlikely]] {
            return got == 0 ? empty_datagram() : nothing_yet(message);
        }
        ++calls_received_;
        return static_cast<std::size_t>(got);
    }

    std::size_t empty_datagram() {
        check_interrupted(); // a socket that was shut down reads as empty datagrams, too
        ++calls_received_;
        return 0;
    }

    std::size_t nothing_yet(std::span<std::byte> message) {
        const std::int64_t end_ns = monotonic_ns() + datagram_patience_ns;
        while (true) {
            require_nothing_yet();
            if (Wait::flags == 0 || monotonic_ns() >= end_ns) {
                return nothing_received;
            }
            Wait::await(fd_, POLLIN);
            const ssize_t got = ask(message, Wait::flags);
            if (got >= 0) {
                ++calls_received_;
                return static_cast<std::size_t>(got);
            }
        }
    }

    [[nodiscard]] static Failure lost(const char* doing) {
        const int error = errno;
        if (error == ECONNREFUSED) {
            return {"peer_lost", "the other end's socket is gone (connection refused while " +
                                     std::string(doing) + ")"};
        }
        return {error == EPIPE ? "peer_lost" : "system",
                "the test socket failed while " + std::string(doing) + ": " + std::strerror(error)};
    }

    int fd_;
    int asks_before_sleep_;
    const std::atomic<bool>& interrupted_;
    [[no_unique_address]] Taking taking_;
    std::atomic<bool> given_up_ = false;
    std::uint64_t calls_sent_ = 0;
    alignas(64) std::uint64_t calls_received_ = 0; // of another thread in a duplex test
};

static_assert(DatagramTransport<UdpPath<BlockingWait>>);
static_assert(ConcurrentTransport<UdpPath<BlockingWait>>);

} // namespace sonde
