// What one reading of a clock costs by another clock, the reference, and by how much it steps.
//
// Both are types with a static now(), so that nothing but the reading lies between two readings of
// the reference.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "core/samples.hpp"

namespace sonde {

// The differences of consecutive readings of a clock, in its own unit.
struct Steps {
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    std::uint64_t smallest = none; // of those forward

    void see(std::uint64_t before, std::uint64_t after) noexcept {
        const auto difference = static_cast<std::int64_t>(after - before);
        if (difference > 0) {
            ++forward;
            smallest = std::min(smallest, static_cast<std::uint64_t>(difference));
        } else if (difference < 0) {
            ++backward;
        }
    }
};

struct Readings {
    explicit Readings(std::size_t count) : calls(count) {}

    Samples calls; // ticks of the reference from before a reading to after it
    Steps steps;
};

// Reads a clock so many times, or until cancelled, after some readings that are not kept.
template <class Clock, class Reference>
[[nodiscard]] Readings read_often(std::size_t count, const std::atomic<bool>& cancelled) {
    constexpr std::size_t warm_up = 1'000;
    constexpr std::size_t piece = 1'024; // cancelled is looked at in between
    Readings found(count);
    std::uint64_t last = Clock::now();
    for (std::size_t i = 0; i < warm_up; ++i) {
        last = Clock::now();
    }
    while (!found.calls.full() && !cancelled) {
        const std::size_t end = std::min(found.calls.size() + piece, count);
        while (found.calls.size() < end) {
            const std::uint64_t before = Reference::now();
            const std::uint64_t value = Clock::now();
            const std::uint64_t after = Reference::now();
            found.calls.push(after - before);
            found.steps.see(last, value);
            last = value;
        }
    }
    return found;
}

// Reads the clock with nothing else in between, so that small steps show, until so many steps
// forward were seen or the limit by the reference has passed: a clock that moves with the kernel's
// tick may stand still over all readings that were timed.
template <class Clock, class Reference>
void watch_steps(Steps& steps, std::uint64_t wanted, std::uint64_t limit_ticks,
                 const std::atomic<bool>& cancelled) {
    constexpr int piece = 1'024;
    const std::uint64_t start = Reference::now();
    std::uint64_t last = Clock::now();
    do {
        for (int i = 0; i < piece; ++i) {
            const std::uint64_t value = Clock::now();
            steps.see(last, value);
            last = value;
        }
    } while (steps.forward < wanted && Reference::now() - start < limit_ticks && !cancelled);
}

} // namespace sonde
