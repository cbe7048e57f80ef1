// The clocks of this host that a program can read, by name.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace sonde {

struct ClockFound {
    // Empty where it was read, else why it cannot be.
    std::string absent;
    // From before a reading to after it: contains one reading of the reference as well.
    std::vector<std::int64_t> call_ns;
    // Where the clock is in nanoseconds, or its ticks have a constant length.
    std::optional<double> smallest_step_ns;
    // What the system says of its resolution, or follows from the form of its answer.
    std::optional<double> stated_resolution_ns;
    std::uint64_t steps = 0;
    std::uint64_t steps_back = 0;
};

// The names that read_clock() knows. Two are no clocks and stand beside them for comparison:
// "nothing" (what the reference alone costs) and "system_call" (CLOCK_MONOTONIC asked of the kernel
// whatever the library would do).
[[nodiscard]] const std::vector<std::string>& clock_names();

// Reads the clock so many times against the timebase's own. Throws Failure("bad_request") for an
// unknown name.
[[nodiscard]] ClockFound read_clock(const std::string& name, std::size_t count, Timebase& timebase,
                                    const std::atomic<bool>& cancelled);

} // namespace sonde
