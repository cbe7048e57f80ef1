// What an end does while nothing comes: it looks again, or it sleeps until something comes or is
// due.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <span>

#include "core/clock.hpp"
#include "protocol/go_back_n.hpp"
#include "transport/link/options.hpp"

namespace sonde {

class LinkPause {
public:
    static constexpr std::int64_t nap_ns = 50'000'000;

    explicit LinkPause(LinkWait how) noexcept : how_(how) {}

    void came() noexcept { idle_since_ns_ = 0; }
    // True where it slept and nothing came: timers are due, or the other end has to be looked
    // after.
    bool pass(int fd, protocol::Ticks timer) {
        if (how_ == LinkWait::spin) {
            return ++looks_ % looks_a_check == 0;
        }
        const std::int64_t now_ns = monotonic_ns();
        idle_since_ns_ = idle_since_ns_ == 0 ? now_ns : idle_since_ns_;
        if (how_ == LinkWait::hybrid && now_ns - idle_since_ns_ < hybrid_spin_ns) {
            return false;
        }
        ++sleeps_;
        pollfd one{fd, POLLIN, 0};
        return sleep_until(std::min(timer, now_ns + nap_ns), {&one, 1}) == 0;
    }
    // How many of them are readable.
    static int sleep_until(std::int64_t end_ns, std::span<pollfd> fds) {
        const std::int64_t left_ns = std::max<std::int64_t>(end_ns - monotonic_ns(), 0);
        const timespec left{static_cast<time_t>(left_ns / 1'000'000'000),
                            static_cast<long>(left_ns % 1'000'000'000)};
        return ::ppoll(fds.data(), fds.size(), &left, nullptr);
    }

    [[nodiscard]] std::uint64_t sleeps() const noexcept { return sleeps_; }

private:
    static constexpr std::int64_t hybrid_spin_ns = 50'000;
    static constexpr unsigned looks_a_check = 1U << 14U;

    LinkWait how_;
    unsigned looks_ = 0;
    std::int64_t idle_since_ns_ = 0;
    std::uint64_t sleeps_ = 0;
};

} // namespace sonde
