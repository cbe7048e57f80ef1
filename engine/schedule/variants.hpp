// The cases that prove an algorithm at one number of ranks: all roots, sizes of nothing and of less
// than a byte for each rank, unequal blocks, every permutation and so on, as far as it has a use
// for them.
#pragma once

#include <string>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

struct Variant {
    std::string name; // what differs from what was asked; empty: nothing
    Parameters parameters;
};

// Without what the algorithm has no use for.
[[nodiscard]] Parameters fitting(const Algorithm& algorithm, Parameters parameters);

// The first one is what was asked. Each root is a case of its own and not among these.
[[nodiscard]] std::vector<Variant> variants(const Algorithm& algorithm, const Parameters& asked);

// Whether an algorithm can have so many ranks.
[[nodiscard]] bool possible(const Algorithm& algorithm, Rank ranks);

struct Proof {
    std::int64_t cases = 0;
    std::int64_t problem_count = 0;
    std::vector<std::string> problems; // the first ones, each with its case
    Findings asked;                    // of the first variant, from root 0
};

// All roots that matter to an algorithm, or some ten of them, spread over the ranks.
[[nodiscard]] std::vector<Rank> proven_roots(const Algorithm& algorithm, Rank ranks, bool all);

// Examines the first variant from every root, the others from some.
[[nodiscard]] Proof prove(const Algorithm& algorithm, const std::vector<Variant>& cases);

} // namespace sonde::schedule
