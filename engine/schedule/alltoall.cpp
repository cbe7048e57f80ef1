#include "schedule/alltoall.hpp"

#include <array>

#include "schedule/alltoall_direct.hpp"

namespace sonde::schedule {

namespace {

std::unique_ptr<Schedule> make_direct(const Parameters& parameters, const DirectPlan& plan) {
    return std::make_unique<DirectSchedule>(parameters, plan);
}

// Both keep to switches where ids are remapped, and XOR pairs the ranks, so that acknowledgements
// can travel with data; but where p is no power of two it leaves ranks idle.
Permutation own_permutation(const Parameters& parameters) {
    const bool power_of_two = (parameters.ranks & (parameters.ranks - 1)) == 0;
    return power_of_two ? Permutation::exclusive_or : Permutation::shift;
}

std::unique_ptr<Schedule> make_uncoordinated(const Parameters& parameters) {
    return make_direct(parameters, {});
}

std::unique_ptr<Schedule> make_staggered(const Parameters& parameters) {
    return make_direct(parameters, {.permutation = Permutation::shift});
}

std::unique_ptr<Schedule> make_shift(const Parameters& parameters) {
    return make_direct(parameters, {.permutation = Permutation::shift, .fan_out = 1});
}

std::unique_ptr<Schedule> make_pairwise_xor(const Parameters& parameters) {
    return make_direct(parameters, {.permutation = Permutation::exclusive_or, .fan_out = 1});
}

std::unique_ptr<Schedule> make_pairwise(const Parameters& parameters) {
    return make_direct(parameters, {.permutation = Permutation::edge_colour, .fan_out = 1});
}

std::unique_ptr<Schedule> make_shuffle(const Parameters& parameters) {
    return make_direct(parameters,
                       {.permutation = parameters.permutation.value_or(own_permutation(parameters)),
                        .mixed = true});
}

std::unique_ptr<Schedule> make_group_shuffle(const Parameters& parameters) {
    const Permutation own =
        parameters.remap ? own_permutation(parameters) : Permutation::edge_colour;
    const Rank fan_out =
        parameters.fan_out > 0 ? parameters.fan_out : own_fan_out(parameters.ranks);
    return make_direct(
        parameters,
        {.permutation = parameters.permutation.value_or(own), .fan_out = fan_out, .mixed = true});
}

constexpr Uses blocks_only{.segments = true, .sizes = true, .own_sizes = true};
constexpr Uses by_rounds{
    .segments = true, .sizes = true, .hierarchy = true, .remap = true, .own_sizes = true};

constexpr std::array all{
    Algorithm{"alltoall/bruck",
              Family::alltoall,
              "store and forward in ceil(log2 p) rounds, many blocks in a message",
              {.sizes = true},
              make_bruck},
    Algorithm{"alltoall/aggregated",
              Family::alltoall,
              "the ranks of a node first among each other, then one of each node with one of each",
              {.sizes = true, .hierarchy = true},
              make_aggregated},
    Algorithm{"alltoall/uncoordinated", Family::alltoall,
              "everything at once, everybody beginning with rank 0", blocks_only,
              make_uncoordinated},
    Algorithm{"alltoall/staggered", Family::alltoall,
              "everything at once, everybody beginning with the next rank", blocks_only,
              make_staggered},
    Algorithm{"alltoall/shift", Family::alltoall, "p - 1 rounds: to rank + i, from rank - i",
              by_rounds, make_shift},
    Algorithm{
        "alltoall/pairwise-xor", Family::alltoall,
        "rounds of pairs, partner = rank XOR round; ranks are idle unless p is a power of two",
        by_rounds, make_pairwise_xor},
    Algorithm{"alltoall/pairwise", Family::alltoall,
              "rounds of pairs by edge colouring: p - 1, or p where p is odd", by_rounds,
              make_pairwise},
    Algorithm{"alltoall/synchronous-shuffle",
              Family::alltoall,
              "one round, a packet for each partner in turn",
              {.segments = true,
               .sizes = true,
               .permutation = true,
               .hierarchy = true,
               .remap = true,
               .own_sizes = true},
              make_shuffle},
    Algorithm{"alltoall/group-shuffle",
              Family::alltoall,
              "synchronous shuffles among so many partners at a time",
              {.segments = true,
               .sizes = true,
               .fan_out = true,
               .permutation = true,
               .hierarchy = true,
               .remap = true,
               .own_sizes = true},
              make_group_shuffle},
    Algorithm{"alltoall/modified-shuffle",
              Family::alltoall,
              "synchronous shuffle with a global window, for switches in a tree",
              {.segments = true,
               .sizes = true,
               .permutation = true,
               .window = true,
               .hierarchy = true,
               .remap = true,
               .own_sizes = true},
              make_shuffle},
};

} // namespace

Layout exchange_layout(const Parameters& parameters) {
    if (parameters.sizes.empty()) {
        return Layout::equal(parameters.ranks, parameters.block_bytes, parameters.segment_bytes);
    }
    return Layout::by_pair(parameters.sizes, parameters.ranks, parameters.segment_bytes);
}

std::span<const Algorithm> alltoall_algorithms() { return all; }

Rank own_fan_out(Rank ranks) noexcept {
    constexpr Rank most_at_once = 5;
    const Rank partners = ranks - 1;
    if (partners < 1) {
        return 1;
    }
    const Rank groups = (partners + most_at_once - 1) / most_at_once;
    return (partners + groups - 1) / groups;
}

} // namespace sonde::schedule
