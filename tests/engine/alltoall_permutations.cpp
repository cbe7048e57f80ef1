// Permutations of a complete exchange: every pair meets once, nobody is sent to twice in a step.
#include "schedule/alltoall_permutation.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <vector>

using namespace sonde::schedule;

TEST_SUITE_BEGIN("alltoall_permutations");

namespace {

// The numbers that every permutation is tried on: all small ones, some larger ones by chance.
std::vector<Rank> rank_numbers() {
    std::vector<Rank> numbers;
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
        numbers.push_back(ranks);
    }
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed): the same in each run
    for (int drawn = 0; drawn < 8; ++drawn) {
        numbers.push_back(std::uniform_int_distribution<Rank>(65, 700)(random));
    }
    return numbers;
}

struct Tally {
    bool in_range = true;      // partners are other ranks
    bool once_per_step = true; // nobody is sent to by two
    bool sources_agree = true; // a receiver names its sender
    std::vector<int> meetings; // by sender and receiver
};

void count_step(Permutation permutation, Rank ranks, Rank step, Tally& tally) {
    std::vector<bool> taken(static_cast<std::size_t>(ranks), false);
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto target = target_at(permutation, ranks, rank, step);
        if (!target) {
            continue;
        }
        if (*target < 0 || *target >= ranks || *target == rank) {
            tally.in_range = false;
            continue;
        }
        const auto place = static_cast<std::size_t>(*target);
        tally.once_per_step = tally.once_per_step && !taken[place];
        taken[place] = true;
        tally.sources_agree =
            tally.sources_agree && source_at(permutation, ranks, *target, step) == rank;
        ++tally.meetings[static_cast<std::size_t>(rank * ranks) + place];
    }
}

Tally count_all(Permutation permutation, Rank ranks) {
    Tally tally;
    tally.meetings.assign(static_cast<std::size_t>(ranks * ranks), 0);
    for (Rank step = 1; step <= permutation_steps(permutation, ranks); ++step) {
        count_step(permutation, ranks, step, tally);
    }
    return tally;
}

bool each_pair_once(const Tally& tally, Rank ranks) {
    for (Rank from = 0; from < ranks; ++from) {
        for (Rank to = 0; to < ranks; ++to) {
            if (tally.meetings[static_cast<std::size_t>(from * ranks + to)] !=
                (from == to ? 0 : 1)) {
                return false;
            }
        }
    }
    return true;
}

Rank idle_ranks(Rank ranks, Rank round) {
    Rank idle = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
        idle += edge_colour(ranks, rank, round) ? 0 : 1;
    }
    return idle;
}

bool symmetric(Permutation permutation, Rank ranks) {
    for (Rank step = 1; step <= permutation_steps(permutation, ranks); ++step) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            const auto partner = target_at(permutation, ranks, rank, step);
            if (partner && target_at(permutation, ranks, *partner, step) != rank) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("every pair meets exactly once, and no rank is sent to by two in a step") {
    for (const auto permutation :
         {Permutation::shift, Permutation::exclusive_or, Permutation::edge_colour}) {
        for (const Rank ranks : rank_numbers()) {
            CAPTURE(static_cast<int>(permutation));
            CAPTURE(ranks);
            const Tally tally = count_all(permutation, ranks);
            CHECK(tally.in_range);
            CHECK(tally.once_per_step);
            CHECK(tally.sources_agree);
            CHECK(each_pair_once(tally, ranks));
        }
    }
}

TEST_CASE("XOR and edge colouring pair the ranks") {
    for (const Rank ranks : rank_numbers()) {
        CAPTURE(ranks);
        CHECK(symmetric(Permutation::exclusive_or, ranks));
        CHECK(symmetric(Permutation::edge_colour, ranks));
    }
    CHECK_FALSE(symmetric(Permutation::shift, 5));
}

TEST_CASE("edge colouring: nobody is idle among an even number, one in each round of an odd one") {
    for (const Rank ranks : rank_numbers()) {
        CAPTURE(ranks);
        const Rank rounds = permutation_steps(Permutation::edge_colour, ranks);
        CHECK(rounds == (ranks == 1 ? 0 : ranks - 1 + ranks % 2));
        for (Rank round = 1; round <= rounds; ++round) {
            CHECK(idle_ranks(ranks, round) == ranks % 2);
        }
    }
}

TEST_CASE("steps: p - 1 by shift, up to the next power of two less one by XOR") {
    CHECK(permutation_steps(Permutation::shift, 1) == 0);
    CHECK(permutation_steps(Permutation::exclusive_or, 1) == 0);
    CHECK(permutation_steps(Permutation::shift, 24) == 23);
    CHECK(permutation_steps(Permutation::exclusive_or, 16) == 15);
    CHECK(permutation_steps(Permutation::exclusive_or, 17) == 31);
    CHECK(permutation_steps(Permutation::edge_colour, 7) == 7);
    CHECK(permutation_steps(Permutation::edge_colour, 8) == 7);
}

TEST_CASE("edge colouring by hand: four and five ranks") {
    // Round r of 4: ranks whose sum is r modulo 3 meet, the one left over meets rank 3.
    CHECK(edge_colour(4, 0, 1) == 1);
    CHECK(edge_colour(4, 2, 1) == 3);
    CHECK(edge_colour(4, 0, 2) == 2);
    CHECK(edge_colour(4, 3, 2) == 1);
    CHECK(edge_colour(4, 3, 3) == 0);
    CHECK(edge_colour(4, 1, 3) == 2);
    CHECK(edge_colour(5, 3, 1) == std::nullopt);
    CHECK(edge_colour(5, 2, 1) == 4);
    CHECK(edge_colour(5, 0, 5) == std::nullopt);
    CHECK(edge_colour(5, 1, 5) == 4);
}

TEST_SUITE_END();
