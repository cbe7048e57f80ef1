// All algorithms by name, and what parameters must be before a schedule is made of them.
#include <algorithm>
#include <limits>

#include "core/failure.hpp"
#include "schedule/alltoall.hpp"
#include "schedule/collectives.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

namespace {

std::vector<Algorithm> join_tables() {
    std::vector<Algorithm> all;
    const auto join = [&](std::span<const Algorithm> table) {
        all.insert(all.end(), table.begin(), table.end());
    };
    join(broadcast_algorithms());
    join(scattered_broadcast_algorithms());
    join(scatter_algorithms());
    join(gather_algorithms());
    join(allgather_algorithms());
    join(alltoall_algorithms());
    join(barrier_algorithms());
    join(reduce_algorithms());
    join(allreduce_algorithms());
    join(reduce_scatter_algorithms());
    return all;
}

[[noreturn]] void refuse(const std::string& message) { throw Failure("bad_request", message); }

void within(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most) {
        refuse(std::string(what) + " must be from " + std::to_string(least) + " to " +
               std::to_string(most) + ", not " + std::to_string(value));
    }
}

void check_sizes(const Algorithm& algorithm, const Parameters& parameters) {
    if (parameters.sizes.empty()) {
        return;
    }
    const auto ranks = static_cast<std::size_t>(parameters.ranks);
    const bool pairs = algorithm.family == Family::alltoall;
    if (pairs) {
        within("ranks with a size for each pair", parameters.ranks, 1, most_ranks_of_pairs);
    }
    const std::size_t expected = pairs ? ranks * ranks : ranks;
    if (parameters.sizes.size() != expected) {
        refuse("sizes must be " + std::to_string(expected) + " numbers, one for each " +
               (pairs ? "pair of ranks" : "rank") + ", not " +
               std::to_string(parameters.sizes.size()));
    }
    for (const std::int64_t size : parameters.sizes) {
        within("each of sizes", size, 0, most_block_bytes);
    }
}

void check_segments(const Parameters& parameters) {
    within("segment_bytes", parameters.segment_bytes, 0, most_block_bytes);
    if (parameters.segment_bytes == 0) {
        return;
    }
    std::int64_t largest = parameters.block_bytes;
    for (const std::int64_t size : parameters.sizes) {
        largest = std::max(largest, size);
    }
    const std::int64_t segments = largest / parameters.segment_bytes;
    if (segments >= most_segments) {
        refuse("a block of " + std::to_string(largest) + " bytes in segments of " +
               std::to_string(parameters.segment_bytes) + " has more than " +
               std::to_string(most_segments) + " of them; give a larger segment_bytes");
    }
}

void check_hierarchy(const Parameters& parameters) {
    if (parameters.hierarchy.empty()) {
        if (parameters.remap) {
            refuse("remap needs a hierarchy, such as 4x4");
        }
        return;
    }
    within("levels of the hierarchy", static_cast<std::int64_t>(parameters.hierarchy.size()), 1,
           most_levels);
    std::int64_t product = 1;
    for (const Rank degree : parameters.hierarchy) {
        within("each level of the hierarchy", degree, 1, most_ranks);
        product = std::min<std::int64_t>(product * degree, std::int64_t{most_ranks} + 1);
    }
    if (product != parameters.ranks) {
        refuse("the levels of the hierarchy must multiply to the " +
               std::to_string(parameters.ranks) + " ranks");
    }
}

// What was given and the algorithm does not heed.
void check_uses(const Algorithm& algorithm, const Parameters& parameters) {
    const Uses& uses = algorithm.uses;
    const auto unused = [&](bool given, bool used, std::string_view what) {
        if (given && !used) {
            refuse(std::string(algorithm.name) + " has no use for " + std::string(what));
        }
    };
    unused(parameters.root != 0, uses.root, "a root");
    unused(!parameters.sizes.empty(), uses.sizes, "unequal sizes");
    unused(parameters.fan_out != 0, uses.fan_out, "a fan-out");
    unused(parameters.permutation.has_value(), uses.permutation, "a permutation");
    unused(parameters.window != 0, uses.window, "a window");
    unused(parameters.remap, uses.remap, "remapped ranks");
    unused(!parameters.commutative, is_reduction(algorithm.family),
           "an operation that does not commute: it reduces nothing");
    if (uses.commutative && !parameters.commutative) {
        refuse(std::string(algorithm.name) + " needs an operation that commutes");
    }
    const auto ranks = static_cast<std::uint32_t>(parameters.ranks);
    if (uses.power_of_two && (ranks & (ranks - 1)) != 0) {
        refuse(std::string(algorithm.name) + " needs a power of two of ranks, not " +
               std::to_string(parameters.ranks));
    }
}

} // namespace

std::string_view family_name(Family family) {
    switch (family) {
    case Family::broadcast:
        return "broadcast";
    case Family::scatter:
        return "scatter";
    case Family::gather:
        return "gather";
    case Family::allgather:
        return "allgather";
    case Family::alltoall:
        return "alltoall";
    case Family::barrier:
        return "barrier";
    case Family::reduce:
        return "reduce";
    case Family::allreduce:
        return "allreduce";
    case Family::reduce_scatter:
        break;
    }
    return "reduce-scatter";
}

bool is_reduction(Family family) {
    return family == Family::reduce || family == Family::allreduce ||
           family == Family::reduce_scatter;
}

void check(const Algorithm& algorithm, const Parameters& parameters) {
    within("ranks", parameters.ranks, 1, most_ranks);
    within("root", parameters.root, 0, parameters.ranks - 1);
    within("block_bytes", parameters.block_bytes, 0, most_block_bytes);
    within("element_bytes", parameters.element_bytes, 1, 65536);
    within("fan_out", parameters.fan_out, 0, std::max(parameters.ranks - 1, 1));
    within("window", parameters.window, 0, std::numeric_limits<std::int32_t>::max());
    check_uses(algorithm, parameters);
    check_sizes(algorithm, parameters);
    check_segments(parameters);
    check_hierarchy(parameters);
}

std::span<const Algorithm> algorithms() {
    static const std::vector<Algorithm> all = join_tables();
    return all;
}

const Algorithm& find_algorithm(std::string_view name) {
    std::string known;
    for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.name == name) {
            return algorithm;
        }
        known.append(known.empty() ? "" : ", ").append(algorithm.name);
    }
    throw Failure("bad_request",
                  "there is no algorithm " + std::string(name) + "; there are " + known);
}

std::unique_ptr<Schedule> make_schedule(std::string_view name, const Parameters& parameters) {
    const Algorithm& algorithm = find_algorithm(name);
    check(algorithm, parameters);
    return algorithm.make(parameters);
}

} // namespace sonde::schedule
