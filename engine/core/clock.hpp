// The host's clock: the cycle counter where it can be trusted, else CLOCK_MONOTONIC.
//
// A timed loop reads ticks; ticks become nanoseconds of CLOCK_MONOTONIC only after the loop.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>

#include "core/counter_trust.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sonde {

[[nodiscard]] inline std::int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CPU time of the calling thread.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CLOCK_MONOTONIC as this host's clock shows it. It is that clock, except in a host of an emulated
// cluster whose clock was given an offset and a drift (NETSONDE_LAB_CLOCKS).
[[nodiscard]] std::int64_t host_clock_ns(std::int64_t monotonic_ns) noexcept;

// Sleeps, then asks the clock again and again, until host_clock_ns() is there; returns early when
// cancelled() says so.
void await_host_clock(std::int64_t instant_ns, const std::function<bool()>& cancelled);

// Names the clock that host_clock_ns() shows: two processes of one name read one clock.
[[nodiscard]] std::string clock_group();

struct CycleCounter {
#if defined(__x86_64__) || defined(__aarch64__)
    static constexpr bool exists = true;
#else
    static constexpr bool exists = false; // now() is the monotonic clock's
#endif

    [[nodiscard]] static std::uint64_t now() noexcept {
#if defined(__x86_64__)
        return __rdtsc();
#elif defined(__aarch64__)
        std::uint64_t ticks = 0;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#else
        return static_cast<std::uint64_t>(monotonic_ns());
#endif
    }
};

struct MonotonicClock {
    [[nodiscard]] static std::uint64_t now() noexcept {
        return static_cast<std::uint64_t>(monotonic_ns());
    }
};

struct ClockFacts {
    bool cycle_counter = false;
    double tick_ns = 1.0;       // length of one tick
    double resolution_ns = 0.0; // smallest step seen between two readings
    double cost_ns = 0.0;       // median cost of one reading
    std::string reason;         // why this source was taken
    // Counters of two CPUs beside each other; -1 where that was not seen.
    CountersApart counters = {};
    double counter_tick_ns = 1.0; // of the counter, used or not
};

// Ties ticks to nanoseconds of CLOCK_MONOTONIC by two simultaneous readings of both.
class Timebase {
public:
    // Verifies the cycle counter against CLOCK_MONOTONIC (about 20 ms) and chooses a source.
    // `told`: what the CPU and the kernel say of it.
    explicit Timebase(const CounterWitnesses& told = counter_witnesses());
    // Of a clock in ns that is so much ahead of host_clock_ns(), such as MPI_Wtime; with_clock()
    // does not know it.
    [[nodiscard]] static Timebase ahead_of_host(std::int64_t ahead_ns);

    [[nodiscard]] const ClockFacts& facts() const noexcept { return facts_; }

    // Takes a second reading now, so that the rate is that of the whole time since the start.
    // Call after a timed phase, before converting its ticks.
    void refresh();

    [[nodiscard]] std::int64_t to_ns(std::uint64_t ticks) const noexcept;
    [[nodiscard]] double duration_ns(std::uint64_t ticks) const noexcept {
        return static_cast<double>(ticks) * facts_.tick_ns;
    }
    [[nodiscard]] std::uint64_t to_ticks(std::int64_t duration_ns) const noexcept {
        return static_cast<std::uint64_t>(static_cast<double>(duration_ns) / facts_.tick_ns);
    }

    // Calls body with the chosen clock as a type, so that a timed loop has no branch on it.
    template <class Body>
    decltype(auto) with_clock(Body&& body) const {
        if (facts_.cycle_counter) {
            return body(CycleCounter{});
        }
        return body(MonotonicClock{});
    }

private:
    struct Anchor {
        std::uint64_t ticks = 0;
        std::int64_t ns = 0;
    };
    struct Ahead {
        std::int64_t ns = 0;
    };
    explicit Timebase(Ahead ahead) : ahead_(ahead) {}
    [[nodiscard]] static Anchor take_anchor() noexcept;

    ClockFacts facts_;
    std::optional<Ahead> ahead_;
    Anchor first_;
    Anchor last_;
};

} // namespace sonde
