// What the programs counted, added over CPUs, and its names in a snapshot.
#pragma once

#include <array>
#include <span>

#include "counters/parse.hpp"
#include "kernel_trace/layout.h"

namespace sonde {

struct KernelTraceTotals {
    std::array<trace_distribution, TRACE_WAITS> waits{};
    trace_counts counts{};
    unsigned long long missed = 0; // times that the kernel left a program out

    // One distribution as each CPU counted it; maxima of other epochs are no longer meant.
    void add_wait(std::size_t which, std::span<const trace_distribution> processors,
                  unsigned long long epoch);
    void add_counts(std::span<const trace_counts> processors);
    // depth.*; buckets that are empty are left out.
    void write(CounterValues& values) const;
};

} // namespace sonde
