// Which algorithm MPICH takes for which size: its switch-over tables, whose points can be moved,
// and any of whose choices can be forced.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

// Sizes at which MPICH changes its algorithm, as MPICH2 1.0.4 has them. `message`: the bytes of the
// broadcast, or of the vector that is reduced. `total`: what all ranks give together. `pair`: the
// block of one pair.
struct SwitchPoints {
    std::int64_t broadcast_short_bytes = 12'288;                  // message; below it binomial
    std::int64_t broadcast_long_bytes = 524'288;                  // message; from it on a ring
    std::int64_t broadcast_least_ranks = 8;                       // below it binomial
    std::int64_t alltoall_short_bytes = 256;                      // pair; below it Bruck
    std::int64_t alltoall_medium_bytes = 32'768;                  // pair; above it pairwise
    std::int64_t alltoall_least_ranks = 8;                        // below it no Bruck
    std::int64_t reduce_scatter_commutative_long_bytes = 524'288; // vector; from it on pairwise
    std::int64_t reduce_scatter_ordered_short_bytes = 512;        // vector; from it on pairwise
    std::int64_t allgather_short_bytes = 81'920;                  // total; below it Bruck
    std::int64_t allgather_long_bytes = 524'288;                  // total; from it on a ring
    std::int64_t allreduce_short_bytes = 2'048;                   // vector; above it Rabenseifner
    std::int64_t reduce_short_bytes = 2'048;                      // vector; above it Rabenseifner
};

struct SwitchPoint {
    std::string_view name; // of MPICH's environment variable
    std::string_view unit; // "bytes" or "ranks"
    std::string_view meaning;
    std::int64_t SwitchPoints::*value;
};

[[nodiscard]] std::span<const SwitchPoint> switch_points();
// Throws Failure("bad_request") for a name that there is not, or a value below 0.
void set_switch_point(SwitchPoints& points, std::string_view name, std::int64_t value);

struct Choice {
    SwitchPoints points;
    bool user_operation = false; // a reduction's operation is the program's own, not MPI's
    std::map<Family, std::string> forced;
};

// The name of the algorithm. The root, fan-out and so on do not matter.
[[nodiscard]] std::string choose(Family family, const Parameters& parameters, const Choice& choice);

// Whether a name is a family's, such as "reduce-scatter": then choose() says which algorithm.
[[nodiscard]] std::optional<Family> find_family(std::string_view name);

} // namespace sonde::schedule
