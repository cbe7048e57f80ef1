// Rules as they are read, and which of them a call gets.
#include "tuned/rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "core/failure.hpp"
#include "schedule/words.hpp"

using namespace sonde;
using namespace sonde::tuned;

TEST_SUITE_BEGIN("rules");

namespace {

std::string document(const std::string& rules) {
    return R"({"format":"netsonde rules","version":1,"made":{"by":{"anything":[1]}},"rules":[)" +
           rules + "]}";
}

std::string refusal(const std::string& text) {
    try {
        static_cast<void>(read_rules(text));
    } catch (const Failure& failure) {
        return failure.what();
    }
    return "";
}

std::string refused_words(const std::string& text, schedule::Family family) {
    try {
        static_cast<void>(schedule::read_words(text, family));
    } catch (const Failure& failure) {
        return failure.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

} // namespace

TEST_CASE("the first rule that fits decides, for inclusive sizes") {
    const auto rules = read_rules(document(
        R"({"operation":"alltoall","ranks":16,"ranks_per_host":2,"to_bytes":100,"algorithm":"pairwise"},
           {"operation":"alltoall","ranks":16,"from_bytes":101,"to_bytes":200,"algorithm":"native"},
           {"operation":"alltoall","ranks":16,"from_bytes":101,"algorithm":"group-shuffle:4"},
           {"operation":"scan","ranks":16,"algorithm":"native"},
           {"operation":"allreduce","ranks":8,"algorithm":"library:ring"})"));
    REQUIRE(rules.size() == 4); // there is nothing to choose for scan
    const FittingRules two(rules, 16, 2);
    CHECK(two.any());
    CHECK_FALSE(two.any(Operation::allreduce));
    CHECK(two.find(Operation::alltoall, 0) == rules.data());
    CHECK(two.find(Operation::alltoall, 100) == rules.data());
    CHECK(two.find(Operation::alltoall, 101) == &rules[1]);
    CHECK(two.find(Operation::alltoall, 200) == &rules[1]);
    CHECK(two.find(Operation::alltoall, 201) == &rules[2]);
    CHECK(two.find(Operation::bcast, 1) == nullptr);
    CHECK(two.for_all_sizes(Operation::alltoall) == nullptr);
    CHECK(rules[1].schedule == nullptr);
    CHECK(rules[2].schedule->name == "alltoall/group-shuffle");
    CHECK(rules[2].parameters.fan_out == 4);
    CHECK(FittingRules(rules, 16, 4).find(Operation::alltoall, 50) == nullptr);
    CHECK_FALSE(FittingRules(rules, 8, 1).any()); // the MPI's own alone
    CHECK(FittingRules(rules, 8, 1).for_all_sizes(Operation::allreduce) == &rules[3]);
    CHECK_FALSE(FittingRules(rules, 15, 1).any(Operation::alltoall));
}

TEST_CASE("what is wrong is said") {
    const auto with = [](const std::string& fields) {
        return refusal(document("{" + fields + "}"));
    };
    CHECK(refusal(document("")).empty());
    CHECK(contains(refusal("nonsense"), "JSON"));
    CHECK(contains(refusal(R"({"format":"other","version":1,"rules":[]})"), "'other'"));
    CHECK(contains(refusal(R"({"format":"netsonde rules","version":2,"rules":[]})"), "version"));
    CHECK(contains(refusal(R"({"format":"netsonde rules","version":1})"), "no list"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":4)"), "algorithm is missing"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":0,"algorithm":"native")"), "ranks is 0"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":4,"algorithm":"native","x":1)"), "x"));
    CHECK(contains(with(R"("operation":"scan","ranks":4,"algorithm":"ring")"), "'scan'"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":4,"algorithm":"binomial")"),
                   "rule 1: there is no algorithm alltoall/binomial"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":4,"algorithm":"group-shuffle:9")"),
                   "fan_out"));
    CHECK(contains(with(R"("operation":"alltoall","ranks":6,"algorithm":"shift:hierarchy=4x2")"),
                   "multiply to the 6 ranks"));
    CHECK(contains(
        with(R"("operation":"bcast","ranks":4,"from_bytes":9,"to_bytes":8,"algorithm":"native")"),
        "to_bytes is 8"));
}

TEST_CASE("algorithms as they are written") {
    const auto read = [](const std::string& text) {
        return schedule::read_words(text, schedule::Family::alltoall);
    };
    const schedule::Asked asked =
        read("modified-shuffle:segment=1.5k:window=8:hierarchy=4x2:permutation=xor:remap");
    CHECK(asked.algorithm == "alltoall/modified-shuffle");
    CHECK(asked.parameters.segment_bytes == 1536);
    CHECK(asked.parameters.window == 8);
    CHECK(asked.parameters.hierarchy == std::vector<schedule::Rank>{4, 2});
    CHECK(asked.parameters.permutation == schedule::Permutation::exclusive_or);
    CHECK(asked.parameters.remap);
    CHECK(read("shift:segment=2kB").parameters.segment_bytes == 2000);
    CHECK(read("shift:segment=1MiB").parameters.segment_bytes == 1 << 20);
    CHECK(read("group-shuffle:3").parameters.fan_out == 3);
    for (const std::string text :
         {"none", "shift:segment", "shift:segment=", "shift:segment=1x", "shift:segment=1.3",
          "shift:window=3", "shift:4", "group-shuffle:0", "shift:hierarchy=4x", "shift:remap",
          "shift:remap=1:hierarchy=2x2", "shift:segment=1:segment=2", "", ":",
          "synchronous-shuffle:permutation=zigzag"}) {
        INFO(text);
        CHECK_FALSE(refused_words(text, schedule::Family::alltoall).empty());
    }
}

TEST_SUITE_END();
