// Algorithms by which a rank needs to know no other sizes than its own: the same steps come of all
// sizes and of its own alone. And those that need all: theirs differ.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "alltoall_steps.hpp"
#include "schedule/variants.hpp"

using namespace sonde::schedule;
using namespace alltoall_steps;

TEST_SUITE_BEGIN("own_sizes");

namespace {

constexpr Rank ranks = 6;

std::vector<std::int64_t> all_sizes(bool is_of_pairs) {
    std::vector<std::int64_t> sizes;
    for (Rank i = 0; i < (is_of_pairs ? ranks * ranks : ranks); ++i) {
        sizes.push_back(i * 7 % 5 * 700);
    }
    return sizes;
}

// What `rank` sends and receives; the root of a scatter or gather sends or receives all.
std::vector<std::int64_t> own_of(const std::vector<std::int64_t>& all, Rank rank) {
    std::vector<std::int64_t> own = all;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto from = static_cast<Rank>(i) / ranks;
        const auto to = static_cast<Rank>(i) % ranks;
        const bool is_own =
            own.size() > ranks ? from == rank || to == rank : to == rank || rank == 0;
        own[i] = is_own ? own[i] : 0;
    }
    return own;
}

// The steps in words, but for the slots, which are of a time that nobody keeps to.
std::string steps_with(const Algorithm& algorithm, std::int64_t segment_bytes,
                       std::vector<std::int64_t> sizes, Rank rank) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.sizes = std::move(sizes);
    parameters.segment_bytes = segment_bytes;
    std::string text;
    const auto schedule = algorithm.make(parameters);
    for (const Kept& kept : steps_of(*schedule, rank)) {
        const Step& step = kept.step;
        text += std::to_string(static_cast<int>(step.action)) + " " + std::to_string(step.peer) +
                " " + std::to_string(step.after) + " " + std::to_string(step.bytes);
        for (const Range& range : kept.data) {
            text += " " + std::to_string(range.origin) + "," + std::to_string(range.block) + "," +
                    std::to_string(range.segment);
        }
        text += "\n";
    }
    return text;
}

bool needs_own_sizes_alone(const Algorithm& algorithm) {
    const std::vector<std::int64_t> all = all_sizes(algorithm.family == Family::alltoall);
    for (Rank rank = 0; rank < ranks; ++rank) {
        for (const std::int64_t segment_bytes : {0, 512}) {
            if (steps_with(algorithm, segment_bytes, all, rank) !=
                steps_with(algorithm, segment_bytes, own_of(all, rank), rank)) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("what is said of algorithms holds") {
    int found = 0;
    for (const Algorithm& algorithm : algorithms()) {
        const bool has_parts = algorithm.family == Family::alltoall ||
                               algorithm.family == Family::scatter ||
                               algorithm.family == Family::gather;
        if (has_parts && algorithm.uses.sizes) {
            INFO(algorithm.name);
            CHECK(needs_own_sizes_alone(algorithm) == algorithm.uses.own_sizes);
            found += algorithm.uses.own_sizes ? 1 : 0;
        } else {
            CHECK_FALSE(algorithm.uses.own_sizes);
        }
    }
    CHECK(found == 10);
}

TEST_SUITE_END();
