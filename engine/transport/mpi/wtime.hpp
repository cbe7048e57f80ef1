// MPI_Wtime beside the clock that a rank reads itself.
#pragma once

#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/clock.hpp"

namespace sonde::mpi {

// MPI_Wtime in ns, as a clock of a timed loop: the same for all ranks where MPI says so.
struct Wtime {
    [[nodiscard]] static std::uint64_t now() noexcept {
        return static_cast<std::uint64_t>(MPI_Wtime() * 1e9);
    }
};

// At at_ns of the rank's clock MPI_Wtime was ahead of it by so much, within half the bracket.
struct WtimeReading {
    std::int64_t at_ns = 0;
    std::int64_t ahead_ns = 0;
    std::int64_t bracket_ns = std::numeric_limits<std::int64_t>::max();
};

// The narrowest of a few: an interrupt between two readings widens its bracket.
[[nodiscard]] inline WtimeReading read_wtime(const Timebase& timebase) {
    constexpr int attempts = 16;
    WtimeReading best;
    timebase.with_clock([&](auto clock) {
        for (int i = 0; i < attempts; ++i) {
            const std::uint64_t before = clock.now();
            const double wtime_s = MPI_Wtime();
            const std::uint64_t after = clock.now();
            const std::int64_t before_ns = timebase.to_ns(before);
            const std::int64_t width_ns = timebase.to_ns(after) - before_ns;
            if (width_ns < best.bracket_ns) {
                const std::int64_t at_ns = before_ns + width_ns / 2;
                best = {at_ns, std::llround(1e9 * wtime_s) - at_ns, width_ns};
            }
        }
    });
    return best;
}

} // namespace sonde::mpi
