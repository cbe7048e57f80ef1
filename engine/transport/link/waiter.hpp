// How an end waits for frames.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "core/clock.hpp"
#include "transport/link/port.hpp"

namespace sonde {

class LinkWaiter {
public:
    LinkWaiter(LinkPort& port, LinkWait how) : port_(port), how_(how) {}

    // Hands over what comes next. False where nothing came until then, or nothing for a while: it
    // may be that the caller has something to look after.
    bool await(std::int64_t end_ns) {
        if (how_ == LinkWait::spin) {
            return look(looks_a_turn);
        }
        // A sleep and its wake-up take longer than what comes soon.
        if (how_ == LinkWait::hybrid) {
            const std::int64_t until_ns = std::min(monotonic_ns() + hybrid_spin_ns, end_ns);
            do {
                if (look(looks_a_turn)) {
                    return true;
                }
            } while (monotonic_ns() < until_ns);
        } else if (port_.deliver()) {
            return true;
        }
        sleep(end_ns);
        return port_.deliver();
    }

    [[nodiscard]] std::uint64_t sleeps() const noexcept { return sleeps_; }

private:
    static constexpr int looks_a_turn = 512; // between readings of the clock
    static constexpr std::int64_t hybrid_spin_ns = 50'000;

    bool look(int times) {
        for (; times != 0; --times) {
            if (port_.deliver()) {
                return true;
            }
        }
        return false;
    }

    void sleep(std::int64_t end_ns) {
        const std::int64_t left_ns = end_ns - monotonic_ns();
        if (left_ns > 0) {
            pollfd one{port_.driver().fd(), POLLIN, 0};
            const timespec left{static_cast<time_t>(left_ns / 1'000'000'000),
                                static_cast<long>(left_ns % 1'000'000'000)};
            ::ppoll(&one, 1, &left, nullptr);
            ++sleeps_;
        }
    }

    LinkPort& port_;
    LinkWait how_;
    std::uint64_t sleeps_ = 0;
};

} // namespace sonde
