// Complete exchanges: every rank has a block for every other. What each algorithm does, claims and
// costs is in docs/methods/schedules-alltoall.md.
#pragma once

#include <memory>
#include <span>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

[[nodiscard]] std::span<const Algorithm> alltoall_algorithms();

// Blocks of equal size, or one for each pair.
[[nodiscard]] Layout exchange_layout(const Parameters& parameters);

// Store and forward in ceil(log2 p) rounds (Bruck et al. 1997). Parameters as they pass check().
[[nodiscard]] std::unique_ptr<Schedule> make_bruck(const Parameters& parameters);

// The ranks of a node send each other what their partners of all nodes are to get, then each sends
// to its partner of every other node what all of its own node have for it. A node is the first
// level of the hierarchy; where nobody says, as many ranks as make about as many nodes. Parameters
// as they pass check().
[[nodiscard]] std::unique_ptr<Schedule> make_aggregated(const Parameters& parameters);

// The partners that a group shuffle has at once where nobody says: as many groups as five partners
// each make, of equal size. Gives the sizes that Tam used, 5 of 16 ranks and 4 of 8.
[[nodiscard]] Rank own_fan_out(Rank ranks) noexcept;

} // namespace sonde::schedule
