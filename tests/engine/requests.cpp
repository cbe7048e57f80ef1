// Request lines: fields, limits, and the examples that Python tests, too.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "test/run_parameters.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("requests");

namespace {

std::vector<json> examples(const std::string& name) {
    std::ifstream file(std::string(SONDE_EXAMPLES) + "/" + name);
    REQUIRE_MESSAGE(file.is_open(), "no example file ", name);
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(json::parse(line));
    }
    return lines;
}

RunParameters read_run(const json& request) {
    std::int64_t id = 0;
    Request parsed = parse_request(request.dump(), id);
    return read_socket_run_parameters(parsed.fields);
}

// What only an MPI program is asked for: tests/engine/mpi/run_requests.cpp.
bool is_of_mpi(const json& request) {
    const std::string test = request.value("test", "");
    return test == "collective" || test == "clock" || test == "threads" || test == "all-pairs" ||
           request.contains("pair") || request.contains("outstanding");
}

json base_run() {
    return {{"verb", "run"},         {"request", 3}, {"test", "stream"},
            {"message_bytes", 1000}, {"count", 10},  {"timeout_ns", 1'000'000'000}};
}

} // namespace

TEST_CASE("valid example runs are taken") {
    int seen = 0;
    for (const json& request : examples("requests-valid.jsonl")) {
        if (request["verb"] == "run" && !is_of_mpi(request)) {
            INFO(request.dump());
            CHECK_NOTHROW((void)read_run(request));
            ++seen;
        }
    }
    CHECK(seen > 5);
}

TEST_CASE("invalid example runs are refused") {
    int seen = 0;
    for (const json& example : examples("requests-invalid.jsonl")) {
        const json& request = example["request"];
        if (request.value("verb", "") == "run") {
            INFO(example.dump());
            CHECK_THROWS_AS((void)read_run(request), Failure);
            ++seen;
        }
    }
    CHECK(seen > 5);
}

TEST_CASE("what MPI has is unknown to sockets") {
    int seen = 0;
    for (const json& request : examples("requests-valid.jsonl")) {
        if (request["verb"] == "run" && is_of_mpi(request)) {
            INFO(request.dump());
            CHECK_THROWS_AS((void)read_run(request), Failure);
            ++seen;
        }
    }
    CHECK(seen > 5);
    json request = base_run();
    request["clock"] = "tree";
    CHECK_THROWS_WITH_AS((void)read_run(request), "request: clock is for MPI, not for sockets",
                         Failure);
    request = base_run();
    request["root"] = 0;
    CHECK_THROWS_WITH_AS((void)read_run(request), "request: unknown field root", Failure);
    request = base_run();
    request["test"] = "clock";
    CHECK_THROWS_WITH_AS((void)read_run(request),
                         "request: test is clock, expected latency, pingpong, stream, duplex, "
                         "open_loop or overheads; others need MPI",
                         Failure);
}

TEST_CASE("memory is made for what a flow can move, between two limits") {
    json request = base_run();
    request.erase("count");
    request["message_bytes"] = 65'536;
    request["duration_ns"] = 100'000'000;
    CHECK(read_run(request).most_messages() == 76'293); // 400 Gbit/s for 100 ms
    request["message_bytes"] = 8;
    CHECK(read_run(request).most_messages() == 2'000'000); // 20 million a second
    request["duration_ns"] = 1'000'000'000;
    CHECK(read_run(request).most_messages() == 1U << 22U);
    request["message_bytes"] = 4'294'967'296;
    CHECK(read_run(request).most_messages() == 1U << 10U);
    request["record_messages"] = false;
    request["message_bytes"] = 8;
    CHECK(read_run(request).most_messages() == 20'000'000);
    request["duration_ns"] = 60'000'000'000;
    CHECK(read_run(request).most_messages() == 1U << 30U);
}

TEST_CASE("defaults of a run") {
    const RunParameters run = read_run(base_run());
    CHECK(run.call_bytes == 1000);
    CHECK(run.record_messages);
    CHECK(run.system_counters);
    CHECK(!run.check_data);
    CHECK(run.interval_ns == 100'000'000);
    CHECK(run.most_messages() == 10);
}

TEST_CASE("a large message is cut into calls of 128 KiB, but not in latency") {
    json request = base_run();
    request["message_bytes"] = 1 << 20;
    CHECK(read_run(request).call_bytes == 128 * 1024);
    request["test"] = "pingpong";
    CHECK(read_run(request).call_bytes == 128 * 1024);
    request["test"] = "latency";
    CHECK(read_run(request).call_bytes == 1 << 20);
}

TEST_CASE("the fingerprint tells different runs apart") {
    const RunParameters run = read_run(base_run());
    CHECK(run.fingerprint() == read_run(base_run()).fingerprint());
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, json>>{{"message_bytes", 1001},
                                                   {"count", 11},
                                                   {"seed", 5},
                                                   {"check_data", true},
                                                   {"test", "duplex"},
                                                   {"call_bytes", 500},
                                                   {"record_messages", false}}) {
        json other = base_run();
        other[name] = value;
        INFO(other.dump());
        CHECK(read_run(other).fingerprint() != run.fingerprint());
    }
    json later = base_run();
    later["request"] = 99;
    later["timeout_ns"] = 2'000'000'000;
    CHECK(read_run(later).fingerprint() == run.fingerprint());
}

TEST_CASE("fields say what they hold and what is allowed") {
    Fields fields(json{{"a", 5}, {"b", "x"}, {"c", true}, {"big", 18446744073709551615ULL}});
    CHECK(fields.integer("a", 0, 5) == 5);
    CHECK(fields.text("b") == "x");
    CHECK(fields.flag("c", false));
    CHECK_THROWS_WITH_AS(fields.integer("a", 6, 9),
                         "request: a is 5, expected an integer from 6 to 9", Failure);
    CHECK_THROWS_AS(fields.integer("big", 0, INT64_MAX), Failure);
    CHECK_THROWS_AS(fields.integer("missing", 0, 1), Failure);
    CHECK_THROWS_AS(fields.text("a"), Failure);
    CHECK_THROWS_AS(fields.flag("a", false), Failure);
    CHECK_NOTHROW(fields.finish());
}

TEST_CASE("a field that nobody took is refused") {
    Fields fields(json{{"known", 1}, {"surprise", 2}});
    CHECK(fields.integer("known", 0, 9) == 1);
    CHECK_THROWS_WITH_AS(fields.finish(), "request: unknown field surprise", Failure);
}

TEST_CASE("nested objects are checked alike") {
    Fields fields(json{{"options", {{"cpu", 1}}}});
    Fields options = fields.object("options");
    CHECK_THROWS_WITH_AS(options.finish(), "request.options: unknown field cpu", Failure);
    CHECK_NOTHROW(fields.object("absent").finish());
    Fields wrong(json{{"options", 3}});
    CHECK_THROWS_AS((void)wrong.object("options"), Failure);
}

TEST_CASE("what is no request is refused, with its number where it has one") {
    for (const std::string line :
         {"", "x", "[]", "3", "{", "{}", "null", R"("a")", R"({"verb":"a"})",
          R"({"request":0,"verb":"a"})", R"({"request":1.5})"}) {
        std::int64_t id = 0;
        INFO(line);
        CHECK_THROWS_AS((void)parse_request(line, id), Failure);
    }
    std::int64_t id = 0;
    CHECK_THROWS_AS((void)parse_request(R"({"request":7})", id), Failure);
    CHECK(id == 7);
}

TEST_CASE("deep nesting does not break the parser") {
    const std::string line = std::string(60'000, '[');
    std::int64_t id = 0;
    CHECK_THROWS_AS((void)parse_request(line, id), Failure);
}

TEST_CASE("a request that is nested too deep is refused before it is read") {
    std::int64_t id = 0;
    const auto nested = [](std::size_t depth) {
        return R"({"verb":"run","request":1,"count":)" + std::string(depth, '[') +
               std::string(depth, ']') + "}";
    };
    CHECK(parse_request(nested(15), id).verb == "run");
    CHECK_THROWS_WITH_AS((void)parse_request(nested(16), id),
                         "request: the JSON is nested more than 16 deep", Failure);
    CHECK_THROWS_AS((void)parse_request(nested(30'000), id), Failure);
}

TEST_SUITE_END();
