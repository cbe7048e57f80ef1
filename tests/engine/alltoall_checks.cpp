// The checker's word on complete exchanges: right data, no deadlock without buffers, claims that
// hold. It knows nothing of how the schedules are made.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "schedule/alltoall.hpp"
#include "schedule/check.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("alltoall_checks");

namespace {

void check_good(const Algorithm& algorithm, const Parameters& parameters) {
    check(algorithm, parameters);
    const Findings findings = examine(*algorithm.make(parameters), Family::alltoall);
    CAPTURE(algorithm.name);
    CAPTURE(parameters.ranks);
    CAPTURE(parameters.block_bytes);
    CAPTURE(parameters.segment_bytes);
    INFO((findings.problems.empty() ? std::string() : findings.problems.front()));
    CHECK(findings.good());
}

// The parameters as they are, and with each choice that the algorithm leaves.
std::vector<Parameters> variants(const Algorithm& algorithm, const Parameters& parameters) {
    std::vector<Parameters> all{parameters};
    if (algorithm.uses.permutation) {
        for (const auto permutation :
             {Permutation::shift, Permutation::exclusive_or, Permutation::edge_colour}) {
            all.push_back(parameters);
            all.back().permutation = permutation;
        }
    }
    for (const Rank fan_out : {2, 3, 6}) {
        if (algorithm.uses.fan_out && fan_out < parameters.ranks) {
            all.push_back(parameters);
            all.back().fan_out = fan_out;
        }
    }
    if (algorithm.uses.window) {
        all.push_back(parameters);
        all.back().window = 1;
    }
    return all;
}

} // namespace

TEST_CASE("every number of ranks to 64, every permutation, some fan-outs, the least window") {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        for (Rank ranks = 1; ranks <= 64; ++ranks) {
            Parameters parameters;
            parameters.ranks = ranks;
            parameters.block_bytes = ranks % 5 == 0 ? 0 : 5 * ranks;
            parameters.segment_bytes = ranks % 3 == 0 ? 4 * ranks : 0;
            for (const Parameters& variant : variants(algorithm, parameters)) {
                check_good(algorithm, variant);
            }
        }
    }
}

TEST_CASE("blocks of unequal sizes, some of them empty, smaller than the ranks are many") {
    std::mt19937 random(3); // NOLINT(bugprone-random-generator-seed): the same in each run
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        for (const Rank ranks : {1, 2, 3, 7, 12, 16, 23}) {
            Parameters parameters;
            parameters.ranks = ranks;
            parameters.segment_bytes = 3;
            for (Rank pair = 0; pair < ranks * ranks; ++pair) {
                const auto drawn = std::uniform_int_distribution<std::int64_t>(-4, 11)(random);
                parameters.sizes.push_back(std::max<std::int64_t>(drawn, 0));
            }
            for (const Parameters& variant : variants(algorithm, parameters)) {
                check_good(algorithm, variant);
            }
        }
    }
}

TEST_CASE("trees of switches, with and without remapped ids") {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        for (const auto& degrees : std::vector<std::vector<Rank>>{
                 {16, 1}, {8, 2}, {8, 3}, {6, 4}, {8, 4}, {4, 4}, {3, 2, 3}, {2, 2, 2, 2}}) {
            Parameters parameters;
            parameters.hierarchy = degrees;
            parameters.ranks = 1;
            for (const Rank degree : degrees) {
                parameters.ranks *= degree;
            }
            parameters.block_bytes = 7;
            parameters.segment_bytes = 3;
            for (const bool remap : {false, true}) {
                parameters.remap = remap && algorithm.uses.remap;
                for (const Parameters& variant : variants(algorithm, parameters)) {
                    check_good(algorithm, variant);
                }
            }
        }
    }
}

TEST_CASE("the registry has all of them") {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        CHECK((find_algorithm(algorithm.name).make == algorithm.make));
    }
}

TEST_SUITE_END();
