// The measured path over one TCP connection.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <span>
#include <string>

#include "core/failure.hpp"
#include "transport/socket/receivings.hpp"
#include "transport/socket/sendings.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/stream_failures.hpp"
#include "transport/socket/waits.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Waits without a time-out of its own, which would cost a timer on each wait: the guard ends a
// waiting call by shutting the socket down.
template <WaitPolicy Wait, Sending How = CopySending, Receiving Taking = PlainReceiving>
class TcpPath {
public:
    static constexpr bool datagrams = false;
    static constexpr bool concurrent = true;

    // how: what the way of sending takes besides the descriptor.
    template <class... Arguments>
    TcpPath(int fd, const std::atomic<bool>& interrupted, const Arguments&... how)
        : fd_(fd), interrupted_(interrupted), cork_(fd), how_(fd, how...) {}

    void send(std::span<const std::byte> message, std::size_t call_bytes) {
        std::size_t done = 0;
        cork_.hold();
        while (done < message.size()) {
            const std::size_t piece = std::min(call_bytes, message.size() - done);
            const ssize_t sent = how_.send(fd_, message, done, piece, Wait::flags);
            if (sent < 0) [[unlikely]] {
                retry_or_throw("sending", POLLOUT);
                continue;
            }
            ++calls_sent_;
            done += static_cast<std::size_t>(sent);
        }
        cork_.let_go();
    }

    std::size_t receive(std::span<std::byte> message, std::size_t call_bytes) {
        std::size_t done = 0;
        while (done < message.size()) {
            const std::size_t piece = std::min(call_bytes, message.size() - done);
            const ssize_t got = taking_.receive(fd_, message.subspan(done, piece), Wait::flags);
            if (got <= 0) [[unlikely]] {
                if (got == 0) {
                    throw closed_stream(interrupted_, message.size() - done, message.size());
                }
                retry_or_throw("receiving", POLLIN);
                continue;
            }
            ++calls_received_;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

    std::size_t receive_some(std::span<std::byte> bytes) {
        for (;;) {
            const ssize_t got = taking_.receive(fd_, bytes, Wait::flags);
            if (got > 0) [[likely]] {
                ++calls_received_;
                return static_cast<std::size_t>(got);
            }
            if (got == 0) {
                throw closed_stream(interrupted_, bytes.size(), bytes.size());
            }
            retry_or_throw("receiving", POLLIN);
        }
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }
    // What the way of sending has to say of all that was sent, by name.
    [[nodiscard]] std::map<std::string, std::uint64_t> counted() { return how_.counted(); }
    void interrupt() noexcept { ::shutdown(fd_, SHUT_RDWR); }
    void check_interrupted() const {
        if (interrupted_) {
            throw Failure("timeout", "while messages were sent at their times");
        }
    }

protected:
    [[nodiscard]] const Taking& taking() const noexcept { return taking_; }

private:
    void retry_or_throw(const char* doing, short events) const {
        const int error = errno;
        if (interrupted_ || (error != EAGAIN && error != EINTR)) {
            throw lost_stream(interrupted_, doing, error);
        }
        if (error == EAGAIN) {
            Wait::await(fd_, events);
        }
    }

    int fd_;
    const std::atomic<bool>& interrupted_;
    Cork cork_;
    [[no_unique_address]] How how_;
    [[no_unique_address]] Taking taking_;
    std::uint64_t calls_sent_ = 0;
    alignas(64) std::uint64_t calls_received_ = 0; // of another thread in a duplex test
};

static_assert(ConcurrentTransport<TcpPath<BlockingWait>>);
static_assert(ByteTransport<TcpPath<BlockingWait>>);

} // namespace sonde
