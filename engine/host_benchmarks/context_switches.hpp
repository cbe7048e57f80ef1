// What it costs to hand over from one thread to another, by a byte that goes round in two pipes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/samples.hpp"

namespace sonde {

struct HandOffs {
    Samples round_trips{0};         // ns, CLOCK_MONOTONIC
    std::uint64_t times_asleep = 0; // how often the measuring thread went to sleep
};

// Round trips of a byte between the calling thread on `cpu` and another one on `other_cpu`, so many
// or until cancelled; without another, the calling thread itself takes the byte out again: what the
// calls cost alone. Throws Failure("system").
[[nodiscard]] HandOffs hand_off(std::size_t count, int cpu, std::optional<int> other_cpu,
                                const std::atomic<bool>& cancelled);

} // namespace sonde
