// Who meets whom at each step of a complete exchange: permutations without node contention, so that
// at no step two ranks send to the same one.
#pragma once

#include <optional>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

// Steps are numbered from 1. Shift: p - 1. XOR: 2^ceil(log2 p) - 1. Edge colouring: p - 1, or p
// where p is odd. A single rank has nobody to meet: 0.
[[nodiscard]] Rank permutation_steps(Permutation permutation, Rank ranks) noexcept;

// To whom a rank sends, and from whom it receives, at a step; nothing: it has no partner then.
[[nodiscard]] std::optional<Rank> target_at(Permutation permutation, Rank ranks, Rank rank,
                                            Rank step) noexcept;
[[nodiscard]] std::optional<Rank> source_at(Permutation permutation, Rank ranks, Rank rank,
                                            Rank step) noexcept;

// The colour classes of the complete graph of `ranks` nodes (Tam, section 5.3.2, Algorithm 2):
// the partner of a rank in a round of 1..permutation_steps; nothing where it is idle.
[[nodiscard]] std::optional<Rank> edge_colour(Rank ranks, Rank rank, Rank round) noexcept;

} // namespace sonde::schedule
