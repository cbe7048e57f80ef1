// The measured path over one TCP connection by io_uring: the calls of a message, up to a ring full,
// are one chain that the kernel works off.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <span>
#include <string>

#include "core/failure.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/stream_failures.hpp"
#include "transport/socket/uring.hpp"
#include "transport/transport.hpp"

namespace sonde {

class UringPath {
public:
    static constexpr bool datagrams = false;
    static constexpr bool concurrent = true;

    UringPath(int fd, const std::atomic<bool>& interrupted)
        : fd_(fd), interrupted_(interrupted), cork_(fd), out_(fd), in_(fd) {}

    void send(std::span<const std::byte> message, std::size_t call_bytes) {
        std::size_t done = 0;
        cork_.hold();
        while (done < message.size()) {
            const Uring::Moved moved = out_.send(message.subspan(done), call_bytes);
            done += moved.bytes;
            if (moved.error != 0) [[unlikely]] {
                retry_or_throw("sending", moved.error);
            }
        }
        cork_.let_go();
    }

    std::size_t receive(std::span<std::byte> message, std::size_t call_bytes) {
        std::size_t done = 0;
        while (done < message.size()) {
            const Uring::Moved moved = in_.receive(message.subspan(done), call_bytes);
            done += moved.bytes;
            if (moved.ended) [[unlikely]] {
                throw closed_stream(interrupted_, message.size() - done, message.size());
            }
            if (moved.error != 0) [[unlikely]] {
                retry_or_throw("receiving", moved.error);
            }
        }
        return done;
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return out_.calls(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return in_.calls(); }
    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"uring_sends", out_.operations()}, {"uring_receives", in_.operations()}};
    }
    void interrupt() const noexcept { ::shutdown(fd_, SHUT_RDWR); }
    void check_interrupted() const {
        if (interrupted_) {
            throw Failure("timeout", "while messages were sent at their times");
        }
    }

private:
    void retry_or_throw(const char* doing, int error) const {
        if (interrupted_ || (error != EAGAIN && error != EINTR)) {
            throw lost_stream(interrupted_, doing, error);
        }
    }

    int fd_;
    const std::atomic<bool>& interrupted_;
    Cork cork_;
    Uring out_;
    alignas(64) Uring in_; // of another thread in a duplex test
};

static_assert(ConcurrentTransport<UringPath>);

} // namespace sonde
