// How a timed call waits: in the kernel, or by asking again and again.
#pragma once

#include <sys/socket.h>

#include <concepts>

namespace sonde {

template <class T>
concept WaitPolicy = requires {
    { T::flags } -> std::convertible_to<int>;
    { T::spins } -> std::convertible_to<bool>;
};

struct BlockingWait {
    static constexpr int flags = 0;
    static constexpr bool spins = false;
};

struct SpinningWait {
    static constexpr int flags = MSG_DONTWAIT;
    static constexpr bool spins = true;
};

} // namespace sonde
