// `run` requests of MPI programs: the examples that Python tests, too, and what goes with what.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "worker/mpi_run.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("run_requests");

namespace {

std::vector<json> lines_of(const std::string& name) {
    std::ifstream file(std::string(SONDE_EXAMPLES) + "/" + name);
    REQUIRE_MESSAGE(file.is_open(), "no example file ", name);
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(json::parse(line));
    }
    return lines;
}

MpiRun read_run(const json& request) {
    std::int64_t id = 0;
    Request parsed = parse_request(request.dump(), id);
    return read_mpi_run(parsed.fields);
}

// What sockets have and an MPI program has not.
bool is_of_sockets(const json& request) {
    return request.contains("rounds") || request.contains("least_count");
}

json run_of(const std::string& test) {
    return {{"verb", "run"},       {"request", 3}, {"test", test},
            {"message_bytes", 64}, {"count", 10},  {"timeout_ns", 1'000'000'000}};
}

} // namespace

TEST_CASE("valid example runs are taken, but for what only sockets have") {
    int seen = 0;
    for (const json& request : lines_of("requests-valid.jsonl")) {
        if (request["verb"] == "run" && is_of_sockets(request)) {
            CHECK_THROWS_AS((void)read_run(request), Failure);
        } else if (request["verb"] == "run") {
            INFO(request.dump());
            CHECK_NOTHROW((void)read_run(request));
            ++seen;
        }
    }
    CHECK(seen > 20);
}

TEST_CASE("invalid example runs are refused") {
    int seen = 0;
    for (const json& example : lines_of("requests-invalid.jsonl")) {
        const json& request = example["request"];
        if (request.value("verb", "") == "run") {
            INFO(example.dump());
            CHECK_THROWS_AS((void)read_run(request), Failure);
            ++seen;
        }
    }
    CHECK(seen > 20);
}

TEST_CASE("a test of MPI's own is no test between two ends, and has none of their options") {
    json request = run_of("clock");
    CHECK(read_run(request).mpi_test == MpiTest::clock);
    CHECK(!read_run(request).is_between_two());
    request["timer_cost"] = true;
    CHECK_THROWS_AS((void)read_run(request), Failure);
    request = run_of("threads");
    request["threads"] = 2;
    CHECK(read_run(request).is_between_two());
    CHECK(read_run(request).threads.count == 2);
    for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
             {"clock", "wtime"}, {"timer_cost", true}, {"outstanding", 2}}) {
        json more = request;
        more[name] = value;
        INFO(more.dump());
        CHECK_THROWS_AS((void)read_run(more), Failure);
    }
    request = run_of("latency");
    request["clock"] = "wtime";
    CHECK(read_run(request).mpi_test == MpiTest::between_two);
    CHECK(read_run(request).clock == ClockMethod::wtime);
}

TEST_CASE("all pairs are asked one by one, a rank itself too") {
    json request = run_of("all-pairs");
    CHECK_THROWS_AS((void)read_run(request), Failure);
    request["asked"] = json::parse("[[0, 3], [2, 2]]");
    const MpiRun run = read_run(request);
    CHECK(run.mpi_test == MpiTest::all_pairs);
    CHECK_FALSE(run.is_between_two());
    CHECK(run.asked == std::vector<AskedPair>{{0, 3}, {2, 2}});
    request["count"] = 16'777'216;
    CHECK_THROWS_AS((void)read_run(request), Failure);
}

TEST_CASE("a delay on purpose is one rank's, in a repetition that comes") {
    const auto read = [](const char* delay, const char* test) {
        json request =
            json::parse(R"({"message_bytes": 8, "count": 10, "timeout_ns": 1000000000})");
        request["test"] = test;
        if (std::string_view(test) == "collective") {
            request["operation"] = "allreduce";
        }
        request["delay"] = json::parse(delay);
        Fields fields(std::move(request));
        return read_mpi_run(fields);
    };
    const char* good = R"({"rank": 2, "repetition": 9, "time_ns": 50000})";
    CHECK(read(good, "collective").delay.rank == 2);
    CHECK(read(good, "collective").delay.repetition == 9);
    CHECK(read(good, "collective").delay.time_ns == 50'000);
    CHECK_THROWS_AS(read(good, "latency"), Failure);
    CHECK_THROWS_AS(read(R"({"rank": 2, "repetition": 10, "time_ns": 50000})", "collective"),
                    Failure);
    CHECK_THROWS_AS(read(R"({"rank": 2, "repetition": 1})", "collective"), Failure);
}

TEST_SUITE_END();
