// Bruck's exchange: blocks that are carried through other ranks all get home.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "alltoall_steps.hpp"

using namespace sonde::schedule;
using namespace alltoall_steps;

TEST_SUITE_BEGIN("alltoall_bruck");

namespace {

// Whether blocks that are carried round by round, each in one place at a time, all get home.
bool carried_home(const Schedule& schedule) {
    const Rank ranks = schedule.parameters().ranks;
    const auto place = [&](Rank origin, Rank block) {
        return static_cast<std::size_t>(origin) * static_cast<std::size_t>(ranks) +
               static_cast<std::size_t>(block);
    };
    std::vector<Rank> at(place(ranks, 0));
    std::map<std::int32_t, std::vector<std::pair<Rank, Kept>>> rounds;
    for (Rank rank = 0; rank < ranks; ++rank) {
        for (Rank block = 0; block < ranks; ++block) {
            at[place(rank, block)] = rank;
        }
        for (Kept& kept : steps_of(schedule, rank)) {
            if (kept.step.action == Action::send) {
                rounds[kept.step.round].emplace_back(rank, std::move(kept));
            }
        }
    }
    for (const auto& [round, sends] : rounds) {
        std::vector<Rank> then = at;
        for (const auto& [rank, kept] : sends) {
            for (const Range& range : kept.data) {
                for (Rank i = 0; i < range.origins; ++i) {
                    const Rank origin = (range.origin + i) % ranks;
                    const std::size_t item = place(origin, range.block);
                    const bool empty = schedule.layout().bytes(origin, range.block) == 0;
                    if (range.blocks != 1 || (at[item] != rank && !empty)) {
                        return false; // it has not what it sends
                    }
                    then[item] = kept.step.peer;
                }
            }
        }
        at = then;
    }
    for (Rank origin = 0; origin < ranks; ++origin) {
        for (Rank block = 0; block < ranks; ++block) {
            if (schedule.layout().bytes(origin, block) > 0 && at[place(origin, block)] != block) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("Bruck: every block gets home, in ceil(log2 p) rounds of one message") {
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
        CAPTURE(ranks);
        Parameters parameters;
        parameters.ranks = ranks;
        parameters.block_bytes = 7;
        const auto schedule = make("bruck", parameters);
        CHECK(carried_home(*schedule));
        std::int64_t rounds = 0;
        while ((std::int64_t{1} << rounds) < ranks) {
            ++rounds;
        }
        CHECK(schedule->claims().rounds == rounds);
        CHECK(cost_of(*schedule).messages == rounds);
    }
}

TEST_CASE("Bruck sends half of everything in each round of a power of two") {
    Parameters parameters;
    parameters.ranks = 16;
    parameters.block_bytes = 10;
    const auto schedule = make("bruck", parameters);
    for (const Kept& kept : steps_of(*schedule, 5)) {
        if (kept.step.action == Action::send) {
            CHECK(kept.step.bytes == 80);
            CHECK(kept.step.peer == (5 + (1 << kept.step.round)) % 16);
        }
    }
    // Packing and unpacking each round, and two rotations of all blocks.
    const auto steps = steps_of(*schedule, 5);
    CHECK(steps.front().step.action == Action::copy);
    CHECK(steps.front().step.bytes == 160);
    CHECK(steps.back().step.bytes == 160);
    CHECK(std::ranges::count(steps, Action::copy,
                             [](const Kept& kept) { return kept.step.action; }) == 2 + 2 * 4);
}

TEST_CASE("Bruck with unequal blocks, some of them empty, and with more ranks") {
    std::mt19937 random(5); // NOLINT(bugprone-random-generator-seed): the same in each run
    for (const Rank ranks : {1, 2, 5, 8, 13, 21}) {
        CAPTURE(ranks);
        Parameters parameters = exchange(ranks, 0);
        parameters.sizes = unequal_sizes(ranks, random);
        CHECK(carried_home(*make("bruck", parameters)));
    }
    for (int drawn = 0; drawn < 3; ++drawn) {
        const auto ranks = std::uniform_int_distribution<Rank>(65, 300)(random);
        CAPTURE(ranks);
        CHECK(carried_home(*make("bruck", exchange(ranks, 1))));
    }
}

TEST_SUITE_END();
