// A fixed amount of work, again and again: what lasts longer than the shortest was disturbed.
//
// The method is the fixed work quantum of the FWQ benchmark (Lawrence Livermore National
// Laboratory): the system's own activity shows as quanta that last longer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/samples.hpp"

namespace sonde {

// Arithmetic of which each step needs the one before: nothing to reorder, no memory touched.
[[nodiscard]] inline std::uint64_t churn(std::uint64_t value, std::uint64_t steps) noexcept {
    for (std::uint64_t i = 0; i < steps; ++i) {
        value = value * 6364136223846793005U + 1442695040888963407U;
    }
    return value;
}

// As many steps of work as take about so many ticks of the clock when nothing disturbs them: the
// quickest of several tries counts. work(steps) does them.
template <class Clock, class Work>
[[nodiscard]] std::uint64_t steps_for(std::uint64_t wanted_ticks, Work work) {
    constexpr int tries = 8;
    constexpr std::uint64_t most_steps = std::uint64_t{1} << 40U;
    std::uint64_t steps = 64;
    while (steps < most_steps) {
        std::uint64_t quickest = ~std::uint64_t{0};
        for (int i = 0; i < tries; ++i) {
            const std::uint64_t before = Clock::now();
            work(steps);
            quickest = std::min(quickest, Clock::now() - before);
        }
        if (quickest >= wanted_ticks / 2) {
            const double each = static_cast<double>(quickest) / static_cast<double>(steps);
            return std::max<std::uint64_t>(
                1, static_cast<std::uint64_t>(static_cast<double>(wanted_ticks) / each));
        }
        steps *= 2;
    }
    return steps;
}

// Lengths of so many quanta, or until cancelled. The end of one is the beginning of the next, so
// that nothing of what happens is missed between two.
template <class Clock, class Work>
[[nodiscard]] Samples time_quanta(std::size_t count, Work work,
                                  const std::atomic<bool>& cancelled) {
    Samples lengths(count);
    work();
    std::uint64_t begin = Clock::now();
    while (!lengths.full() && !cancelled) {
        work();
        const std::uint64_t end = Clock::now();
        lengths.push(end - begin);
        begin = end;
    }
    return lengths;
}

} // namespace sonde
