// Whether the CPUs' cycle counters can be trusted as one clock: what the CPU and the
// kernel say of them, and what two of them show beside each other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/processors.hpp"

namespace sonde {

inline constexpr const char* clock_sources_folder = "/sys/devices/system/clocksource/clocksource0/";

// What is said of the counter; texts are empty where nothing is.
struct CounterWitnesses {
    bool constant = false; // the CPU says that its rate is
    std::string current;   // the clock that the kernel keeps time by
    std::string available; // all that it would, in its words
};

[[nodiscard]] CounterWitnesses counter_witnesses(const std::string& folder = clock_sources_folder);

struct CounterVerdict {
    bool trusted = false;
    std::string reason;
};

// The kernel watches the counter from its start and takes it from its list where it found it
// wanting: that outweighs what the CPU says of itself.
[[nodiscard]] CounterVerdict judge_counter(const CounterWitnesses& told);

// The counter of the first CPU less that of the second, in ticks: a message over a cache line
// arrives after it was sent, so exchanges bound it as they bound the lead of a host's clock.
struct CountersApart {
    int first = -1;
    int second = -1;
    std::int64_t low_ticks = 0;
    std::int64_t high_ticks = 0;
    int exchanges = 0;

    [[nodiscard]] bool known() const noexcept { return exchanges > 0; }
    // They differ by no less, and by no more.
    [[nodiscard]] std::int64_t least_ticks() const noexcept;
    [[nodiscard]] std::int64_t most_ticks() const noexcept;
};

// Two of the allowed CPUs that are as far from each other as any: of two packages, else the
// first and the last. Nothing where there is one only.
[[nodiscard]] std::optional<std::pair<int, int>>
distant_processors(const std::vector<int>& allowed, const ProcessorGroups& packages);

using CounterReading = std::function<std::uint64_t()>;

// A reading that no earlier load and no later store passes.
[[nodiscard]] std::uint64_t ordered_reading() noexcept;

// Two threads, one on each CPU, hand a cache line to and fro for at most `most_ns`. Unknown
// where they were not both running for long enough, or may not run there.
[[nodiscard]] CountersApart compare_counters(std::pair<int, int> processors, std::int64_t most_ns,
                                             const CounterReading& first = ordered_reading,
                                             const CounterReading& second = ordered_reading);

} // namespace sonde
