// Switches in a tree: contention-aware ids, packets on an uplink, windows, runs of one target.
#include "schedule/alltoall_hierarchy.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/failure.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("alltoall_hierarchy");

namespace {

Hierarchy tree(const std::vector<Rank>& degrees) { return Hierarchy(degrees); }

std::string refusal(const std::vector<Rank>& degrees) {
    try {
        (void)tree(degrees);
    } catch (const sonde::Failure& failure) {
        return failure.what();
    }
    return "accepted";
}

std::string window_refusal(Rank ranks, const Bottleneck& bottleneck) {
    try {
        (void)global_window(ranks, bottleneck);
    } catch (const sonde::Failure& failure) {
        return failure.what();
    }
    return "accepted";
}

constexpr Route plain_xor{Permutation::exclusive_or, false};
constexpr Route aware_xor{Permutation::exclusive_or, true};
constexpr Route aware_shift{Permutation::shift, true};
constexpr Route aware_colour{Permutation::edge_colour, true};

// Switches that a switch of 4x4 sends to under plain or remapped XOR, by step from 1.
std::vector<Rank> targets_of_switch(const Route& route, Rank sending) {
    const Hierarchy four = tree({4, 4});
    std::vector<Rank> targets;
    for (Rank step = 1; step <= 15; ++step) {
        targets.push_back(four.switch_of(*target_at(route, four, sending * 4, step), 1));
    }
    return targets;
}

// Which switch feeds a switch of 4x4, by step from 1.
std::vector<Rank> sources_of_switch(const Route& route, Rank receiving) {
    const Hierarchy four = tree({4, 4});
    std::vector<Rank> sources;
    for (Rank step = 1; step <= 15; ++step) {
        sources.push_back(four.switch_of(*source_at(route, four, receiving * 4, step), 1));
    }
    return sources;
}

bool round_trips(const Hierarchy& hierarchy) {
    std::vector<bool> taken(static_cast<std::size_t>(hierarchy.ranks()), false);
    for (Rank rank = 0; rank < hierarchy.ranks(); ++rank) {
        const Rank logical = hierarchy.logical(rank);
        if (logical < 0 || logical >= hierarchy.ranks() ||
            taken[static_cast<std::size_t>(logical)] || hierarchy.physical(logical) != rank) {
            return false;
        }
        taken[static_cast<std::size_t>(logical)] = true;
    }
    return true;
}

} // namespace

TEST_CASE("contention-aware ids: Eq. (6.3) with two levels, one id for each host") {
    for (Rank hosts = 1; hosts <= 9; ++hosts) {
        for (Rank switches = 1; switches <= 9; ++switches) {
            CAPTURE(hosts);
            CAPTURE(switches);
            const Hierarchy two = tree({hosts, switches});
            CHECK(round_trips(two));
            for (Rank rank = 0; rank < two.ranks(); ++rank) {
                CHECK(two.logical(rank) == rank / hosts + rank % hosts * switches);
            }
        }
    }
}

TEST_CASE("contention-aware ids of deeper trees: the digits backwards") {
    const Hierarchy deep = tree({4, 3, 2}); // hosts, leaf switches, switches above them
    CHECK(round_trips(deep));
    CHECK(round_trips(tree({2, 5, 3, 2})));
    CHECK(deep.ranks() == 24);
    CHECK(deep.hosts_below(1) == 4);
    CHECK(deep.hosts_below(2) == 12);
    // Host 3 of leaf 2 of switch 1: 3 + 4 * (2 + 3 * 1) = 23; 1 + 2 * (2 + 3 * 3) = 23.
    CHECK(deep.logical(23) == 23);
    // Host 1 of leaf 2 of switch 0: 1 + 4 * 2 = 9; 0 + 2 * (2 + 3 * 1) = 10.
    CHECK(deep.logical(9) == 10);
    CHECK(deep.switch_of(23, 1) == 5);
    CHECK(deep.switch_of(23, 2) == 1);
    // Consecutive logical ids are at different switches of both levels.
    for (Rank logical = 0; logical + 1 < deep.ranks(); ++logical) {
        const Rank one = deep.physical(logical);
        const Rank next = deep.physical(logical + 1);
        CHECK(deep.switch_of(one, 1) != deep.switch_of(next, 1));
        CHECK(deep.switch_of(one, 2) != deep.switch_of(next, 2));
    }
}

TEST_CASE("golden table of remapped XOR on 4x4, in physical ids") {
    struct Row {
        Rank step;
        std::array<Rank, 4> targets; // of nodes 0 to 3
        Rank target_switch;
    };
    const std::array<Row, 8> table{{{1, {4, 5, 6, 7}, 1},
                                    {2, {8, 9, 10, 11}, 2},
                                    {3, {12, 13, 14, 15}, 3},
                                    {4, {1, 0, 3, 2}, 0},
                                    {5, {5, 4, 7, 6}, 1},
                                    {8, {2, 3, 0, 1}, 0},
                                    {12, {3, 2, 1, 0}, 0},
                                    {15, {15, 14, 13, 12}, 3}}};
    const Hierarchy four = tree({4, 4});
    for (const Row& row : table) {
        CAPTURE(row.step);
        for (Rank node = 0; node < 4; ++node) {
            const auto target = target_at(aware_xor, four, node, row.step);
            CHECK(target == row.targets[static_cast<std::size_t>(node)]);
            CHECK(four.switch_of(*target, 1) == row.target_switch);
            CHECK(source_at(aware_xor, four, *target, row.step) == node);
        }
    }
}

TEST_CASE("Fig. 6.3: plain XOR stays d_1 steps with a switch, and others hear of it late") {
    CHECK(targets_of_switch(plain_xor, 2) ==
          std::vector<Rank>{2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0, 1, 1, 1, 1});
    // Switch 3 is fed by switch 2, then by 1, then by 0, which had no word of it for 8 steps.
    CHECK(sources_of_switch(plain_xor, 3) ==
          std::vector<Rank>{3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("Fig. 6.4: remapped XOR in logical ids, listed by physical ones") {
    const Hierarchy four = tree({4, 4});
    const std::array<Rank, 16> at_step_1{1, 5, 9, 13, 0, 4, 8, 12, 3, 7, 11, 15, 2, 6, 10, 14};
    for (Rank node = 0; node < 16; ++node) {
        CHECK(four.logical(*target_at(aware_xor, four, node, 1)) ==
              at_step_1[static_cast<std::size_t>(node)]);
    }
    CHECK(targets_of_switch(aware_xor, 2) ==
          std::vector<Rank>{3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
    CHECK(sources_of_switch(aware_xor, 3) ==
          std::vector<Rank>{2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0});
}

TEST_CASE("remap with shift, or with XOR on powers of two, moves from switch to switch") {
    const std::vector<std::vector<Rank>> trees{{4, 4}, {8, 2}, {8, 3}, {6, 4},  {8, 4},
                                               {1, 7}, {5, 3}, {3, 2}, {16, 16}};
    for (const auto& degrees : trees) {
        CAPTURE(degrees.front());
        CAPTURE(degrees.back());
        const Hierarchy hierarchy = tree(degrees);
        const Rank ranks = hierarchy.ranks();
        const auto shifted = switch_targets(aware_shift, hierarchy, 1);
        CHECK(shifted.permutation_steps == ranks - 1);
        CHECK(shifted.longest_run == 1);
        CHECK(shifted.repeats == 0);
        CHECK(switch_targets({Permutation::shift, false}, hierarchy, 1).longest_run ==
              degrees.front());
        if ((ranks & (ranks - 1)) == 0) {
            const auto paired = switch_targets(aware_xor, hierarchy, 1);
            CHECK(paired.permutation_steps == ranks - 1);
            CHECK(paired.repeats == 0);
            CHECK(switch_targets(plain_xor, hierarchy, 1).longest_run == degrees.front());
            CHECK(switch_targets(plain_xor, hierarchy, 1).permutation_steps == ranks - 1);
        }
    }
}

TEST_CASE("the same at every level of deeper trees") {
    for (const auto& degrees : std::vector<std::vector<Rank>>{{4, 3, 2}, {3, 5, 3}, {2, 2, 3, 2}}) {
        const Hierarchy hierarchy = tree(degrees);
        for (std::size_t level = 1; level < hierarchy.levels(); ++level) {
            CAPTURE(level);
            const auto found = switch_targets(aware_shift, hierarchy, level);
            CHECK(found.permutation_steps == hierarchy.ranks() - 1);
            CHECK(found.repeats == 0);
        }
    }
    const Hierarchy cube = tree({4, 2, 4});
    for (std::size_t level = 1; level < cube.levels(); ++level) {
        CHECK(switch_targets(aware_xor, cube, level).permutation_steps == 31);
        CHECK(switch_targets(aware_xor, cube, level).repeats == 0);
    }
}

TEST_CASE("remap with edge colouring leaves a residue") {
    struct Row {
        std::vector<Rank> degrees;
        Rank permutation_steps;
        Rank longest_run;
        std::int64_t repeats; // of p (p - 1) packets
    };
    for (const Row& row : std::vector<Row>{{{4, 4}, 3, 2, 11},
                                           {{8, 2}, 3, 3, 30},
                                           {{8, 3}, 3, 2, 23},
                                           {{6, 4}, 3, 2, 19},
                                           {{8, 4}, 3, 2, 27}}) {
        CAPTURE(row.degrees.front());
        CAPTURE(row.degrees.back());
        const auto found = switch_targets(aware_colour, tree(row.degrees), 1);
        CHECK(found.permutation_steps == row.permutation_steps);
        CHECK(found.longest_run == row.longest_run);
        CHECK(found.repeats == row.repeats);
    }
}

TEST_CASE("remap with XOR on 24 ranks: idle steps, and runs on 8x3") {
    const auto three = switch_targets(aware_xor, tree({8, 3}), 1);
    CHECK(permutation_steps(Permutation::exclusive_or, 24) == 31);
    CHECK(three.permutation_steps == 0);
    CHECK(three.longest_run == 2);
    CHECK(three.repeats == 108);
    CHECK(switch_targets(aware_xor, tree({6, 4}), 1).permutation_steps == 7);
}

TEST_CASE("packets up a link in each step: Eq. (6.1)") {
    CHECK(uplink_packets_per_step(16, 4) == doctest::Approx(3.2));
    CHECK(uplink_packets_per_step(16, 8) == doctest::Approx(64.0 / 15));
    CHECK(uplink_packets_per_step(24, 8) == doctest::Approx(128.0 / 23));
    CHECK(uplink_packets_per_step(24, 1) == doctest::Approx(1.0));
    CHECK(uplink_packets_per_step(16, 16) == 0.0);
    CHECK(uplink_packets_per_step(1, 1) == 0.0);
}

TEST_CASE("what is counted on a schedule has that mean") {
    for (const auto& degrees : std::vector<std::vector<Rank>>{{4, 4}, {8, 3}, {3, 5, 2}}) {
        const Hierarchy hierarchy = tree(degrees);
        const Rank ranks = hierarchy.ranks();
        for (std::size_t level = 1; level < hierarchy.levels(); ++level) {
            Rank crossing = 0; // from the first switch, in all steps
            for (Rank rank = 0; rank < hierarchy.hosts_below(level); ++rank) {
                for (Rank step = 1; step < ranks; ++step) {
                    const auto target = target_at(aware_shift, hierarchy, rank, step);
                    crossing += hierarchy.switch_of(*target, level) == 0 ? 0 : 1;
                }
            }
            CHECK(crossing / static_cast<double>(ranks - 1) ==
                  doctest::Approx(uplink_packets_per_step(ranks, hierarchy.hosts_below(level))));
        }
    }
}

TEST_CASE("global windows as published, rounded down") {
    CHECK(global_window(16, {.hosts_below = 4, .buffer_packets = 30, .control_traffic = false}) ==
          9);
    CHECK(global_window(16, {.hosts_below = 8, .buffer_packets = 45, .control_traffic = false}) ==
          10);
    CHECK(global_window(16, {.hosts_below = 8, .buffer_packets = 45}) == 5);
    CHECK(global_window(24, {.hosts_below = 8, .buffer_packets = 45}) == 4);
    CHECK(global_window(24, {.hosts_below = 6, .buffer_packets = 45}) == 4); // printed: 5; 4.79
    CHECK(global_window(32, {.hosts_below = 8, .buffer_packets = 45}) == 3);
}

TEST_CASE("windows of other bottlenecks") {
    // A host's own port on a switch: one packet a step.
    CHECK(global_window(16, {.buffer_packets = 43, .control_traffic = false}) == 43);
    CHECK(global_window(16, {.buffer_packets = 43}) == 21);
    // A root of one buffer for four uplinks.
    CHECK(global_window(32, {.hosts_below = 8, .buffer_packets = 820, .links = 4}) == 16);
    // Exactly whole: 64 / 3.2.
    CHECK(global_window(16, {.hosts_below = 4, .buffer_packets = 64, .control_traffic = false}) ==
          20);
    CHECK(global_window(16, {.hosts_below = 16, .buffer_packets = 45}) == std::nullopt);
    CHECK(global_window(1, {.buffer_packets = 45}) == std::nullopt);
    // 64 switches of 64 hosts: not even one packet of each.
    CHECK(global_window(4096, {.hosts_below = 64, .buffer_packets = 45}) == 0);
    CHECK(window_refusal(16, {.hosts_below = 17}).find("16 ranks") != std::string::npos);
    CHECK(window_refusal(16, {.hosts_below = 8, .links = 3}).find("3 links") != std::string::npos);
    CHECK(window_refusal(0, {}).find("0 ranks") != std::string::npos);
    CHECK(window_refusal(16, {.buffer_packets = 0}).find("buffer of 0") != std::string::npos);
}

TEST_CASE("the narrowest of several bottlenecks") {
    // Three levels of 4 hosts, 3 leaf switches, 2 switches above: the uplinks of both levels.
    const std::vector<Bottleneck> levels{{.hosts_below = 4, .buffer_packets = 45},
                                         {.hosts_below = 12, .buffer_packets = 45},
                                         {.hosts_below = 24, .buffer_packets = 1}};
    CHECK(global_window(24, levels[0]) == 6); // 45 * 23 / (2 * 20 * 4)
    CHECK(global_window(24, levels[1]) == 3); // 45 * 23 / (2 * 12 * 12)
    const auto least = narrowest_window(24, levels);
    CHECK(least.has_value());
    CHECK(least->packets == 3);
    CHECK(least->bottleneck == 1);
    CHECK_FALSE(narrowest_window(24, std::span(levels).subspan(2)).has_value());
}

TEST_CASE("what a window lets head for one switch: 4x4, B_L = 30, W_g = 9") {
    const Hierarchy four = tree({4, 4});
    // Plain XOR: nine steps in a row towards one switch from outside it, 4 packets in each.
    CHECK(most_towards_switch(plain_xor, four, 1, 9, 1) == 36);
    // Remapped: every fourth step stays inside.
    CHECK(most_towards_switch(aware_xor, four, 1, 9, 1) == 28);
    // From the last step of a pass to the first of the next there is one such step less.
    CHECK(most_towards_switch(aware_xor, four, 1, 9, 4) == 32);
    CHECK(most_towards_switch(aware_xor, four, 1, 8, 4) == 28);
    CHECK(most_towards_switch(plain_xor, four, 1, 15, 1) == 48);
    CHECK(most_towards_switch(plain_xor, four, 1, 1000, 1) == 48);
    CHECK(most_towards_switch(plain_xor, four, 1, 1000, 3) == 144);
}

TEST_CASE("hierarchies that cannot be are refused") {
    CHECK(refusal({}).find("0 levels") != std::string::npos);
    CHECK(refusal({2, 2, 2, 2, 2, 2, 2, 2, 2}).find("9 levels") != std::string::npos);
    CHECK(refusal({4, 0}).find("with 0 below") != std::string::npos);
    CHECK(refusal({-1}).find("with -1 below") != std::string::npos);
    CHECK(refusal({most_ranks, 2}).find("with 2 below") != std::string::npos);
    CHECK(refusal({most_ranks, 1}) == "accepted");
}

TEST_SUITE_END();
