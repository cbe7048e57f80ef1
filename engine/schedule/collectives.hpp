// The algorithms of every family but alltoall, a table for each source file.
#pragma once

#include <span>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

[[nodiscard]] std::span<const Algorithm> broadcast_algorithms();
[[nodiscard]] std::span<const Algorithm> scattered_broadcast_algorithms();
[[nodiscard]] std::span<const Algorithm> scatter_algorithms();
[[nodiscard]] std::span<const Algorithm> gather_algorithms();
[[nodiscard]] std::span<const Algorithm> allgather_algorithms();
[[nodiscard]] std::span<const Algorithm> barrier_algorithms();
[[nodiscard]] std::span<const Algorithm> reduce_algorithms();
[[nodiscard]] std::span<const Algorithm> allreduce_algorithms();
[[nodiscard]] std::span<const Algorithm> reduce_scatter_algorithms();

} // namespace sonde::schedule
