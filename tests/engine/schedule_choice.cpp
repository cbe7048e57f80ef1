// MPICH's switch-over tables, and algorithms with their parameters as they come in JSON.
#include "schedule/choose.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "schedule/read.hpp"

using namespace sonde::schedule;
using nlohmann::json;
using sonde::Failure;
using sonde::Fields;

TEST_SUITE_BEGIN("schedule_choice");

namespace {

std::string chosen(Family family, Rank ranks, std::int64_t bytes, const Choice& choice = {}) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.block_bytes = bytes;
    return choose(family, parameters, choice);
}

std::string chosen_in_order(Family family, Rank ranks, std::int64_t bytes) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.block_bytes = bytes;
    parameters.commutative = false;
    return choose(family, parameters, {});
}

void check_refused(const json& request, const std::string& words) {
    std::string said = "accepted";
    try {
        Fields fields(request);
        (void)read_asked(fields);
        fields.finish();
    } catch (const Failure& failure) {
        CHECK(failure.code() == "bad_request");
        said = failure.what();
    }
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
}

Asked read(const json& request) {
    Fields fields(request);
    Asked asked = read_asked(fields);
    fields.finish();
    return asked;
}

} // namespace

TEST_CASE("broadcast: 12 KB, 512 KB and 8 ranks") {
    const auto broadcast = [](Rank ranks, std::int64_t bytes) {
        return chosen(Family::broadcast, ranks, bytes);
    };
    CHECK(broadcast(8, 12'287) == "broadcast/binomial");
    CHECK(broadcast(8, 12'288) == "broadcast/scatter-recursive-doubling");
    CHECK(broadcast(9, 12'288) == "broadcast/scatter-ring");
    CHECK(broadcast(16, 524'287) == "broadcast/scatter-recursive-doubling");
    CHECK(broadcast(16, 524'288) == "broadcast/scatter-ring");
    CHECK(broadcast(7, 1 << 30) == "broadcast/binomial");
}

TEST_CASE("alltoall: 256 bytes and 32 KB of a pair, 8 ranks") {
    const auto alltoall = [](Rank ranks, std::int64_t bytes) {
        return chosen(Family::alltoall, ranks, bytes);
    };
    CHECK(alltoall(8, 255) == "alltoall/bruck");
    CHECK(alltoall(7, 255) == "alltoall/staggered");
    CHECK(alltoall(8, 256) == "alltoall/staggered");
    CHECK(alltoall(8, 32'768) == "alltoall/staggered");
    CHECK(alltoall(8, 32'769) == "alltoall/pairwise-xor");
    CHECK(alltoall(12, 32'769) == "alltoall/shift");
}

TEST_CASE("reduce-scatter: 512 KB, or 512 bytes in order, of the whole vector") {
    CHECK(chosen(Family::reduce_scatter, 8, 65'535) == "reduce-scatter/recursive-halving");
    CHECK(chosen(Family::reduce_scatter, 8, 65'536) == "reduce-scatter/pairwise");
    CHECK(chosen_in_order(Family::reduce_scatter, 8, 63) == "reduce-scatter/recursive-doubling");
    CHECK(chosen_in_order(Family::reduce_scatter, 8, 64) == "reduce-scatter/pairwise");
}

TEST_CASE("allgather: 80 KB and 512 KB of all blocks together") {
    const auto allgather = [](Rank ranks, std::int64_t bytes) {
        return chosen(Family::allgather, ranks, bytes);
    };
    CHECK(allgather(8, 65'535) == "allgather/recursive-doubling");
    CHECK(allgather(8, 65'536) == "allgather/ring"); // "from 64 KB per process for 8 processes
    CHECK(allgather(32, 16'383) == "allgather/recursive-doubling");
    CHECK(allgather(32, 16'384) == "allgather/ring"); // and 16 KB for 32"
    CHECK(allgather(10, 8'191) == "allgather/bruck");
    CHECK(allgather(10, 8'192) == "allgather/ring");
    Parameters unequal;
    unequal.ranks = 3;
    unequal.sizes = {0, 81'919, 0};
    CHECK(choose(Family::allgather, unequal, {}) == "allgather/bruck");
    unequal.sizes = {1, 81'919, 0};
    CHECK(choose(Family::allgather, unequal, {}) == "allgather/ring");
}

TEST_CASE("reduce and allreduce: 2 KB, and operations that are not MPI's") {
    CHECK(chosen(Family::allreduce, 8, 2'048) == "allreduce/recursive-doubling");
    CHECK(chosen(Family::allreduce, 8, 2'049) == "allreduce/rabenseifner");
    CHECK(chosen(Family::reduce, 8, 2'048) == "reduce/binomial");
    CHECK(chosen(Family::reduce, 8, 2'049) == "reduce/rabenseifner");
    Choice own;
    own.user_operation = true;
    CHECK(chosen(Family::allreduce, 8, 2'049, own) == "allreduce/recursive-doubling");
    CHECK(chosen_in_order(Family::reduce, 8, 2'049) == "reduce/binomial");
    CHECK(chosen(Family::scatter, 8, 1 << 20) == "scatter/binomial");
    CHECK(chosen(Family::gather, 8, 1) == "gather/binomial");
    CHECK(chosen(Family::barrier, 8, 0) == "barrier/dissemination");
}

TEST_CASE("switch points can be moved and choices forced") {
    Choice choice;
    set_switch_point(choice.points, "MPIR_BCAST_SHORT_MSG", 16'384);
    CHECK(chosen(Family::broadcast, 8, 16'383, choice) == "broadcast/binomial");
    CHECK(chosen(Family::broadcast, 8, 16'384, choice) == "broadcast/scatter-recursive-doubling");
    choice.forced[Family::broadcast] = "broadcast/chain";
    CHECK(chosen(Family::broadcast, 8, 1, choice) == "broadcast/chain");
    CHECK_THROWS_AS(set_switch_point(choice.points, "MPIR_BCAST", 1), Failure);
    CHECK_THROWS_AS(set_switch_point(choice.points, "MPIR_BCAST_LONG_MSG", -1), Failure);
}

TEST_CASE("each switch point moves its own value") {
    for (const SwitchPoint& point : switch_points()) {
        SwitchPoints points;
        set_switch_point(points, point.name, 77);
        CHECK(points.*point.value == 77);
        int moved = 0;
        for (const SwitchPoint& other : switch_points()) {
            moved += points.*other.value == SwitchPoints{}.*other.value ? 0 : 1;
        }
        CHECK(moved == 1);
    }
}

TEST_CASE("families are found by their names") {
    CHECK(find_family("reduce-scatter") == Family::reduce_scatter);
    CHECK(!find_family("broadcast/chain"));
    for (const Algorithm& algorithm : algorithms()) {
        const std::string family(algorithm.name.substr(0, algorithm.name.find('/')));
        CHECK(find_family(family) == algorithm.family);
    }
}

TEST_CASE("what is asked for in JSON") {
    const Asked asked = read({{"algorithm", "broadcast"},
                              {"block_packets", 4},
                              {"root", 2},
                              {"hierarchy", {4, 2}},
                              {"permutation", "edge-colour"},
                              {"switch_points", {{"MPIR_BCAST_MIN_PROCS", 2}}},
                              {"force", {"reduce/binomial"}}});
    CHECK(asked.parameters.block_bytes == 4 * default_packet_bytes);
    CHECK(asked.parameters.segment_bytes == default_packet_bytes);
    CHECK(asked.parameters.root == 2);
    CHECK(asked.parameters.hierarchy == std::vector<Rank>{4, 2});
    CHECK(asked.parameters.permutation == Permutation::edge_colour);
    CHECK(asked.choice.points.broadcast_least_ranks == 2);
    CHECK(asked.choice.forced.at(Family::reduce) == "reduce/binomial");
    Asked family = asked;
    family.parameters.ranks = 4;
    family.parameters.block_bytes = 20'000;
    CHECK(find_algorithm(family).name == "broadcast/scatter-recursive-doubling");
    const Asked bytes = read({{"algorithm", "gather/linear"}, {"sizes", {5, 6}}});
    CHECK(bytes.parameters.segment_bytes == 0);
    CHECK(bytes.parameters.sizes == std::vector<std::int64_t>{5, 6});
    CHECK(bytes.parameters.commutative);
}

TEST_CASE("JSON that cannot be meant is refused") {
    const std::vector<std::pair<std::string, json>> wrong{
        {"root", -1},
        {"block_bytes", -1},
        {"block_bytes", most_block_bytes + 1},
        {"block_bytes", 1.5},
        {"block_packets", most_segments + 1},
        {"segment_bytes", "1k"},
        {"sizes", {1, "2"}},
        {"sizes", {1, 18446744073709551615ULL}},
        {"sizes", 4},
        {"element_bytes", 0},
        {"commutative", 1},
        {"permutation", "random"},
        {"hierarchy", {0}},
        {"hierarchy", {1, 1, 1, 1, 1, 1, 1, 1, 1}},
        {"hierarchy", "4x4"},
        {"switch_points", {{"MPIR_BCAST_SHORT_MSG", "x"}}},
        {"switch_points", {{"MPIR_BCAST_SHORT", 1}}},
        {"force", {"broadcast/star"}},
        {"force", {"broadcast/chain", "broadcast/linear"}},
        {"colour", "red"}};
    for (const auto& [name, value] : wrong) {
        INFO(name, " ", value.dump());
        const json request{{"algorithm", "broadcast"}, {name, value}};
        CHECK_THROWS_AS((void)read(request), Failure);
    }
    check_refused(json::object(), "algorithm is missing");
    check_refused({{"algorithm", "broadcast"}, {"block_bytes", 1}, {"block_packets", 1}},
                  "exclude each other");
    check_refused({{"algorithm", "broadcast"}, {"block_packets", 1}, {"segment_bytes", 0}},
                  "segment_bytes from 1 on");
}

TEST_SUITE_END();
