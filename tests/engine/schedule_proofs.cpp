// Every algorithm is proven at every number of ranks up to 64, and at some above.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/schedule.hpp"
#include "schedule/variants.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("schedule_proofs");

namespace {

Parameters sized(Rank ranks, std::int64_t bytes, std::int64_t segment_bytes) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.block_bytes = bytes;
    parameters.segment_bytes = segment_bytes;
    return parameters;
}

// From every root; other sizes and choices at each number up to 32 ranks, and at some above.
void check_proven(const Algorithm& algorithm, Rank ranks) {
    std::vector<Variant> cases = variants(algorithm, sized(ranks, 3000, 1000));
    if (ranks > 32 && ranks % 16 > 1) {
        cases.resize(1);
    }
    const Proof proof = prove(algorithm, cases);
    INFO(algorithm.name, " at ", ranks, " ranks");
    CHECK(proof.problems == std::vector<std::string>{});
    CHECK(proof.problem_count == 0);
}

void check_family(Family family) {
    for (const Algorithm& algorithm : algorithms()) {
        for (Rank ranks = 1; algorithm.family == family && ranks <= 64; ++ranks) {
            if (possible(algorithm, ranks)) {
                check_proven(algorithm, ranks);
            }
        }
    }
}

} // namespace

TEST_CASE("broadcasts") { check_family(Family::broadcast); }

TEST_CASE("scatters and gathers") {
    check_family(Family::scatter);
    check_family(Family::gather);
}

TEST_CASE("allgathers and barriers") {
    check_family(Family::allgather);
    check_family(Family::barrier);
}

TEST_CASE("complete exchanges") { check_family(Family::alltoall); }

TEST_CASE("reductions") {
    check_family(Family::reduce);
    check_family(Family::allreduce);
    check_family(Family::reduce_scatter);
}

TEST_CASE("random larger numbers of ranks") {
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed): the same on every run
    for (const Algorithm& algorithm : algorithms()) {
        const std::uint32_t span = algorithm.family == Family::alltoall ? 60 : 200;
        for (int i = 0; i < 3; ++i) {
            Parameters parameters = sized(static_cast<Rank>(65 + random() % span), 0, 256);
            parameters.block_bytes = static_cast<std::int64_t>(random() % 1000);
            if (algorithm.uses.root) {
                parameters.root = static_cast<Rank>(random() % 65);
            }
            if (!possible(algorithm, parameters.ranks)) {
                parameters.ranks = 128;
            }
            const auto schedule = make_schedule(algorithm.name, parameters);
            const Findings findings = examine(*schedule, algorithm.family);
            INFO(algorithm.name, " at ", parameters.ranks, " ranks of ", parameters.block_bytes);
            CHECK(findings.problems == std::vector<std::string>{});
        }
    }
}

TEST_CASE("the cases of a proof are what they are called") {
    const Algorithm& shuffle = find_algorithm("reduce-scatter/pairwise");
    std::vector<std::string> names;
    for (const Variant& variant : variants(shuffle, sized(12, 100, 0))) {
        names.push_back(variant.name);
        CHECK_NOTHROW(check(shuffle, variant.parameters));
    }
    CHECK(names == std::vector<std::string>{"", "no bytes", "one byte",
                                            "a byte less than there are ranks", "unequal sizes",
                                            "an operation that does not commute"});
    const Algorithm& binomial = find_algorithm("broadcast/binomial");
    CHECK(proven_roots(binomial, 9, false).size() == 9);
    CHECK(proven_roots(binomial, 64, true).size() == 64);
    CHECK(proven_roots(binomial, 64, false) == std::vector<Rank>{0, 8, 16, 24, 32, 40, 48, 56, 63});
    CHECK(proven_roots(shuffle, 64, true) == std::vector<Rank>{0});
}

TEST_SUITE_END();
