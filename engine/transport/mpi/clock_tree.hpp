// Who compares its clock with whose: ranks that read one clock have a leader, the leaders form a
// binomial tree, so that the comparisons of many ranks take a logarithm's time (Hunold and
// Carpen-Amarie, Hierarchical Clock Synchronization in MPI, IEEE Cluster 2018).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sonde::mpi {

struct ClockPlace {
    int parent = -1;                  // -1: rank 0, whose clock is everybody's measure
    bool reads_parents_clock = false; // nothing to compare then
    std::vector<int> compared;        // children that compare, the one with the most below it first
    std::vector<int> same;            // children that read this rank's clock
};

// groups[r] names the clock that rank r reads.
[[nodiscard]] ClockPlace place_in_clock_tree(int rank, std::span<const std::int64_t> groups);

// The same where all leaders compare their clocks with rank 0 itself.
[[nodiscard]] ClockPlace place_under_root(int rank, std::span<const std::int64_t> groups);

} // namespace sonde::mpi
