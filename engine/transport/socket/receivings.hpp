// How a path takes what has arrived from the kernel: plainly, or with the time of its arrival.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

template <class T>
concept Receiving = requires(T& t, std::span<std::byte> into) {
    // As recv().
    { t.receive(0, into, 0) } -> std::same_as<ssize_t>;
};

struct PlainReceiving {
    static ssize_t receive(int fd, std::span<std::byte> into, int flags) noexcept {
        return ::recv(fd, into.data(), into.size(), flags);
    }
};

// Keeps when the driver handed over what was received last: the kernel's software stamp.
class StampedReceiving {
public:
    ssize_t receive(int fd, std::span<std::byte> into, int flags) noexcept;
    // CLOCK_REALTIME; 0 where the kernel said nothing.
    [[nodiscard]] std::int64_t arrival_ns() const noexcept { return arrival_ns_; }

private:
    std::int64_t arrival_ns_ = 0;
};

static_assert(Receiving<PlainReceiving>);
static_assert(Receiving<StampedReceiving>);

} // namespace sonde
