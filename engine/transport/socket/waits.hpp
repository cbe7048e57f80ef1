// How a timed call waits: in the call itself, by asking again and again, or until the kernel says
// that the socket is ready (non-blocking calls and poll(), as event-driven programs do).
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <concepts>

namespace sonde {

template <class T>
concept WaitPolicy = requires {
    { T::flags } -> std::convertible_to<int>;
    // After a call that would have had to wait: returns when another may do, or soon.
    { T::await(0, short{}) } -> std::same_as<void>;
};

struct BlockingWait {
    static constexpr int flags = 0;
    static void await(int /*fd*/, short /*events*/) noexcept {}
};

struct SpinningWait {
    static constexpr int flags = MSG_DONTWAIT;
    static void await(int /*fd*/, short /*events*/) noexcept {}
};

struct ReadinessWait {
    static constexpr int flags = MSG_DONTWAIT;
    static constexpr int patience_ms = 200;
    // A socket that was shut down is ready at once, so the guard ends this wait too.
    static void await(int fd, short events) noexcept {
        pollfd one{fd, events, 0};
        ::poll(&one, 1, patience_ms);
    }
};

} // namespace sonde
