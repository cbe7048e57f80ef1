// Records as written, against the examples that Python checks against the schema.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("records");

namespace {

// Everything that was written to a RecordWriter, by line.
std::vector<std::string> written(const std::function<void(RecordWriter&)>& write) {
    const int fd = ::memfd_create("records", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    RecordWriter records(fd, "alpha", 1);
    write(records);
    std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    REQUIRE(::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    ::close(fd);
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string encoded(std::string_view text) {
    return base64(std::as_bytes(std::span(text.data(), text.size())));
}

// Feeds lines to the request loop with one verb, `echo`, and gives back the records.
std::vector<json> served(const std::string& input) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    std::vector<json> records;
    for (const std::string& line : written([&](RecordWriter& writer) {
             const std::map<std::string, Handler> handlers{
                 {"echo", [](Request& request) {
                      json values{{"word", request.fields.text("word")}};
                      request.fields.finish();
                      return values;
                  }}};
             // A thread: the input may be more than a pipe holds.
             std::thread feeder([&] {
                 [[maybe_unused]] const ssize_t all = ::write(ends[1], input.data(), input.size());
                 ::close(ends[1]);
             });
             serve_requests(ends[0], writer, handlers);
             feeder.join();
         })) {
        records.push_back(json::parse(line));
    }
    ::close(ends[0]);
    return records;
}

} // namespace

TEST_CASE("base64 as in RFC 4648") {
    CHECK(encoded("").empty());
    CHECK(encoded("f") == "Zg==");
    CHECK(encoded("fo") == "Zm8=");
    CHECK(encoded("foo") == "Zm9v");
    CHECK(encoded("foob") == "Zm9vYg==");
    CHECK(encoded("fooba") == "Zm9vYmE=");
    CHECK(encoded("foobar") == "Zm9vYmFy");
    CHECK(encoded("\xFB\xFF\xFE") == "+//+");
}

TEST_CASE("every kind of record is written as in the examples") {
    const auto lines = written([](RecordWriter& records) {
        ClockFacts clock;
        clock.cycle_counter = true;
        clock.tick_ns = 0.5;
        clock.resolution_ns = 10.0;
        clock.cost_ns = 20.0;
        clock.reason = "an example";
        records.hello("sonde-worker", "0.1.0", 2, clock);
        records.facts(1, {{"os.kernel", "6.1"}, {"cpu.count", 8}, {"cpu.boost", true}});
        const std::vector<std::int64_t> values{1, -1, 1'000'000'007};
        records.series(2, "round_trip_ns", "ns", values);
        records.counters(2, {{"messages_sent", 3}});
        records.snapshot(2, "before", 123, 45, {{"cpu.all.user", 6}});
        records.done(2, "run", {{"ended_by", "count"}});
        records.error(3, "bad_request", "request: unknown field surprise");
        records.bye("quit");
    });
    std::ifstream file(std::string(SONDE_EXAMPLES) + "/records-valid.jsonl");
    REQUIRE(file.is_open());
    std::size_t index = 0;
    for (std::string line; index < lines.size() && std::getline(file, line); ++index) {
        json ours = json::parse(lines[index]);
        if (ours.contains("pid")) {
            ours["pid"] = 1;
        }
        CHECK(ours == json::parse(line));
    }
    CHECK(index == 8);
}

TEST_CASE("a long series comes in pieces of less than 1 MiB") {
    const std::vector<std::int64_t> values(200'001, INT64_MIN);
    const auto lines =
        written([&](RecordWriter& records) { records.series(1, "a", "ns", values); });
    REQUIRE(lines.size() == 3);
    std::int64_t next = 0;
    for (const auto& line : lines) {
        CHECK(line.size() < (std::size_t{1} << 20U));
        const json record = json::parse(line);
        CHECK(record["offset"] == next);
        CHECK(record["total"] == 200'001);
        next += record["count"].get<std::int64_t>();
    }
    CHECK(next == 200'001);
}

TEST_CASE("an empty series is said") {
    const auto lines = written([](RecordWriter& records) { records.series(1, "a", "ns", {}); });
    REQUIRE(lines.size() == 1);
    CHECK(json::parse(lines[0])["values"] == "");
}

TEST_CASE("bytes that are no UTF-8 do not break a record") {
    const auto lines = written([](RecordWriter& records) {
        records.facts(1, {{"name", "a\xFFz"}});
        records.error(1, "system", "quote \" and newline \n");
    });
    REQUIRE(lines.size() == 2);
    CHECK(json::accept(lines[0]));
    CHECK(json::parse(lines[1])["message"] == "quote \" and newline \n");
}

TEST_CASE("a lost reader is a failure, not the end of the process") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    ::close(ends[0]);
    std::signal(SIGPIPE, SIG_IGN);
    RecordWriter records(ends[1], "alpha", 0);
    CHECK_THROWS_AS(records.bye("quit"), Failure);
    ::close(ends[1]);
}

TEST_CASE("the loop answers every request once") {
    const auto records = served("{\"request\":1,\"verb\":\"echo\",\"word\":\"hi\"}\n"
                                "\n"
                                "{\"request\":2,\"verb\":\"echo\"}\n"
                                "{\"request\":3,\"verb\":\"nonsense\"}\n"
                                "garbage\n"
                                "{\"request\":4,\"verb\":\"echo\",\"word\":\"x\",\"more\":1}\n"
                                "{\"request\":5,\"verb\":\"quit\"}\n"
                                "{\"request\":6,\"verb\":\"echo\",\"word\":\"late\"}\n");
    REQUIRE(records.size() == 7);
    CHECK(records[0]["values"]["word"] == "hi");
    CHECK(records[1]["code"] == "bad_request");
    CHECK(records[2]["message"] == "unknown verb nonsense");
    CHECK(records[3]["request"] == 0);
    CHECK(records[4]["message"] == "request: unknown field more");
    CHECK(records[5]["verb"] == "quit");
    CHECK(records[6]["reason"] == "quit");
}

TEST_CASE("a line over the limit is answered, and the next one understood") {
    std::string input = R"({"request":1,"verb":")";
    input += std::string(request_line_limit_bytes, 'x');
    input += "\"}\n";
    input += R"({"request":2,"verb":"quit"})";
    const auto records = served(input);
    REQUIRE(records.size() == 3);
    CHECK(records[0]["code"] == "limit");
    CHECK(records[1]["record"] == "done");
    CHECK(records[2]["reason"] == "quit");
}

TEST_CASE("the end of the input is said") {
    const auto records = served("");
    REQUIRE(records.size() == 1);
    CHECK(records[0] ==
          json{{"record", "bye"}, {"rank", 1}, {"host", "alpha"}, {"reason", "stdin_closed"}});
}

TEST_SUITE_END();
