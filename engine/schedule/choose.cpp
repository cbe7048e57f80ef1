#include "schedule/choose.hpp"

#include <array>
#include <bit>
#include <numeric>

#include "core/failure.hpp"

namespace sonde::schedule {

namespace {

constexpr std::array families{Family::broadcast, Family::scatter,   Family::gather,
                              Family::allgather, Family::alltoall,  Family::barrier,
                              Family::reduce,    Family::allreduce, Family::reduce_scatter};

constexpr std::array point_table{
    SwitchPoint{.name = "MPIR_BCAST_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of the message: binomial below",
                .value = &SwitchPoints::broadcast_short_bytes},
    SwitchPoint{.name = "MPIR_BCAST_LONG_MSG",
                .unit = "bytes",
                .meaning = "of the message: scatter and ring from here",
                .value = &SwitchPoints::broadcast_long_bytes},
    SwitchPoint{.name = "MPIR_BCAST_MIN_PROCS",
                .unit = "ranks",
                .meaning = "binomial below",
                .value = &SwitchPoints::broadcast_least_ranks},
    SwitchPoint{.name = "MPIR_ALLTOALL_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of a pair's block: Bruck below",
                .value = &SwitchPoints::alltoall_short_bytes},
    SwitchPoint{.name = "MPIR_ALLTOALL_MEDIUM_MSG",
                .unit = "bytes",
                .meaning = "of a pair's block: pairwise above",
                .value = &SwitchPoints::alltoall_medium_bytes},
    SwitchPoint{.name = "MPIR_ALLTOALL_MIN_PROCS",
                .unit = "ranks",
                .meaning = "no Bruck below",
                .value = &SwitchPoints::alltoall_least_ranks},
    SwitchPoint{.name = "MPIR_REDSCAT_COMMUTATIVE_LONG_MSG",
                .unit = "bytes",
                .meaning = "of the whole vector: pairwise from here",
                .value = &SwitchPoints::reduce_scatter_commutative_long_bytes},
    SwitchPoint{.name = "MPIR_REDSCAT_NONCOMMUTATIVE_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of the whole vector: pairwise from here",
                .value = &SwitchPoints::reduce_scatter_ordered_short_bytes},
    SwitchPoint{.name = "MPIR_ALLGATHER_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of all blocks together: Bruck below",
                .value = &SwitchPoints::allgather_short_bytes},
    SwitchPoint{.name = "MPIR_ALLGATHER_LONG_MSG",
                .unit = "bytes",
                .meaning = "of all blocks together: ring from here",
                .value = &SwitchPoints::allgather_long_bytes},
    SwitchPoint{.name = "MPIR_ALLREDUCE_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of the vector: Rabenseifner above",
                .value = &SwitchPoints::allreduce_short_bytes},
    SwitchPoint{.name = "MPIR_REDUCE_SHORT_MSG",
                .unit = "bytes",
                .meaning = "of the vector: Rabenseifner above",
                .value = &SwitchPoints::reduce_short_bytes}};

bool power_of_two(const Parameters& parameters) {
    return std::has_single_bit(static_cast<std::uint32_t>(parameters.ranks));
}

// What all blocks have together, one for each rank.
std::int64_t all_blocks_bytes(const Parameters& parameters) {
    return parameters.sizes.empty()
               ? parameters.block_bytes * parameters.ranks
               : std::accumulate(parameters.sizes.begin(), parameters.sizes.end(), std::int64_t{0});
}

std::string_view choose_broadcast(const Parameters& parameters, const SwitchPoints& points) {
    if (parameters.block_bytes < points.broadcast_short_bytes ||
        parameters.ranks < points.broadcast_least_ranks) {
        return "broadcast/binomial";
    }
    return parameters.block_bytes < points.broadcast_long_bytes && power_of_two(parameters)
               ? "broadcast/scatter-recursive-doubling"
               : "broadcast/scatter-ring";
}

std::string_view choose_alltoall(const Parameters& parameters, const SwitchPoints& points) {
    if (!parameters.sizes.empty()) {
        return "alltoall/staggered"; // MPI_Alltoallv: no rank knows the others' sizes
    }
    if (parameters.block_bytes < points.alltoall_short_bytes &&
        parameters.ranks >= points.alltoall_least_ranks) {
        return "alltoall/bruck";
    }
    if (parameters.block_bytes <= points.alltoall_medium_bytes) {
        return "alltoall/staggered";
    }
    return power_of_two(parameters) ? "alltoall/pairwise-xor" : "alltoall/shift";
}

std::string_view choose_allgather(const Parameters& parameters, const SwitchPoints& points) {
    const std::int64_t total_bytes = all_blocks_bytes(parameters);
    if (total_bytes < points.allgather_long_bytes && power_of_two(parameters)) {
        return "allgather/recursive-doubling";
    }
    return total_bytes < points.allgather_short_bytes ? "allgather/bruck" : "allgather/ring";
}

std::string_view choose_reduce_scatter(const Parameters& parameters, const SwitchPoints& points) {
    const std::int64_t vector_bytes = all_blocks_bytes(parameters);
    if (parameters.commutative) {
        return vector_bytes < points.reduce_scatter_commutative_long_bytes
                   ? "reduce-scatter/recursive-halving"
                   : "reduce-scatter/pairwise";
    }
    return vector_bytes < points.reduce_scatter_ordered_short_bytes
               ? "reduce-scatter/recursive-doubling"
               : "reduce-scatter/pairwise";
}

} // namespace

std::span<const SwitchPoint> switch_points() { return point_table; }

void set_switch_point(SwitchPoints& points, std::string_view name, std::int64_t value) {
    if (value < 0) {
        throw Failure("bad_request",
                      std::string(name) + " must be 0 or more, not " + std::to_string(value));
    }
    std::string known;
    for (const SwitchPoint& point : point_table) {
        if (point.name == name) {
            points.*point.value = value;
            return;
        }
        known.append(known.empty() ? "" : ", ").append(point.name);
    }
    throw Failure("bad_request",
                  "there is no switch point " + std::string(name) + "; there are " + known);
}

std::string choose(Family family, const Parameters& parameters, const Choice& choice) {
    if (const auto forced = choice.forced.find(family); forced != choice.forced.end()) {
        return forced->second;
    }
    const SwitchPoints& points = choice.points;
    // An operation that does not commute can only be the program's own.
    const bool own = choice.user_operation || !parameters.commutative;
    switch (family) {
    case Family::broadcast:
        return std::string(choose_broadcast(parameters, points));
    case Family::scatter:
        return "scatter/binomial";
    case Family::gather:
        return "gather/binomial";
    case Family::allgather:
        return std::string(choose_allgather(parameters, points));
    case Family::alltoall:
        return std::string(choose_alltoall(parameters, points));
    case Family::barrier:
        return "barrier/dissemination";
    case Family::reduce:
        return own || parameters.block_bytes <= points.reduce_short_bytes ? "reduce/binomial"
                                                                          : "reduce/rabenseifner";
    case Family::allreduce:
        return own || parameters.block_bytes <= points.allreduce_short_bytes
                   ? "allreduce/recursive-doubling"
                   : "allreduce/rabenseifner";
    case Family::reduce_scatter:
        break;
    }
    return std::string(choose_reduce_scatter(parameters, points));
}

std::optional<Family> find_family(std::string_view name) {
    for (const Family family : families) {
        if (family_name(family) == name) {
            return family;
        }
    }
    return std::nullopt;
}

} // namespace sonde::schedule
