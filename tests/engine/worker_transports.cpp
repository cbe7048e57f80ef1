// A transport beside the real ones: one more row, opened and run through the worker's requests.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "worker/transports.hpp"
#include "worker/worker.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("worker_transports");

namespace {

// What became of the dummy's ends, over all tests of this file.
struct Seen {
    std::int64_t timeout_ns = 0;
    int open = 0;
    std::string aborted;
};
Seen seen; // NOLINT(*-avoid-non-const-global-variables): the rows' functions carry no state

class DummySession final : public Session {
public:
    explicit DummySession(int rank) : rank_(rank) { ++seen.open; }
    ~DummySession() override { --seen.open; }

    [[nodiscard]] json opened() const override { return {{"dummy_rank", rank_}}; }
    void check(const RunParameters& run) const override {
        if (run.test != Test::latency) {
            throw Failure("bad_request", "the dummy is for latency");
        }
    }
    [[nodiscard]] Result run(const RunParameters& run, Timebase& /*timebase*/,
                             const BatchHooks& hooks) override {
        hooks.before();
        if (run.message_bytes == 13) {
            throw Failure("peer_lost", "13 bytes are too many");
        }
        hooks.after();
        Result result;
        result.count("messages_sent", run.count);
        return result;
    }
    [[nodiscard]] OwnTraffic own_traffic() const override {
        return {[] {
                    CounterValues values;
                    values["dummy.messages"] = 1;
                    return values;
                },
                ""};
    }
    void abort(const std::string& code) noexcept override { seen.aborted = code; }
    void interrupt() noexcept override {}

private:
    int rank_;
};

class DummyListener final : public ListeningEnd {
public:
    [[nodiscard]] json listening() const override { return {{"dummy_address", "there"}}; }
    [[nodiscard]] std::unique_ptr<Session> accept(std::int64_t timeout_ns) override {
        seen.timeout_ns = timeout_ns;
        return std::make_unique<DummySession>(target_rank);
    }
    void interrupt() noexcept override {}
};

Opening<ListeningEnd> read_dummy_listen(Fields& fields) {
    const std::int64_t timeout_ns = take_timeout(fields);
    fields.finish();
    return {.timeout_ns = timeout_ns,
            .make = [](const std::atomic<bool>&) { return std::make_unique<DummyListener>(); }};
}

template <int rank>
Opening<Session> read_dummy(Fields& fields) {
    fields.finish();
    return {.make = [](const std::atomic<bool>&) { return std::make_unique<DummySession>(rank); }};
}

constexpr WorkerTransport dummy{.name = "dummy",
                                .listen = read_dummy_listen,
                                .connect = read_dummy<origin_rank>,
                                .alone = read_dummy<origin_rank>};

std::vector<WorkerTransport> with_dummy() {
    const auto known = worker_transports();
    std::vector<WorkerTransport> rows(known.begin(), known.end());
    rows.push_back(dummy);
    return rows;
}

// A worker whose records are kept in memory.
class AskedWorker {
public:
    // The values of `done`. Throws what the worker would answer with `error`.
    json ask(const std::string& verb, json fields = json::object()) {
        fields["verb"] = verb;
        fields["request"] = 1;
        std::int64_t id = 0;
        Request request = parse_request(fields.dump(), id);
        return handlers_.at(verb)(request);
    }
    std::string refusal(const std::string& verb, const json& fields) {
        try {
            (void)ask(verb, fields);
        } catch (const Failure& failure) {
            return failure.code() + ": " + failure.what();
        }
        return "";
    }
    [[nodiscard]] std::vector<json> records() const {
        std::string text(static_cast<std::size_t>(::lseek(written_.get(), 0, SEEK_END)), '\0');
        REQUIRE(::pread(written_.get(), text.data(), text.size(), 0) ==
                static_cast<ssize_t>(text.size()));
        std::istringstream stream(text);
        std::vector<json> found;
        for (std::string line; std::getline(stream, line);) {
            found.push_back(json::parse(line));
        }
        return found;
    }

private:
    std::vector<WorkerTransport> rows_ = with_dummy();
    Descriptor written_{::memfd_create("records", MFD_CLOEXEC)};
    RecordWriter records_{written_.get(), "host", 0};
    Timebase timebase_;
    Guard guard_{-1};
    Worker worker_{records_, timebase_, guard_, rows_};
    std::map<std::string, Handler> handlers_ = worker_.handlers();
};

json latency(int bytes = 8) {
    return {{"test", "latency"},
            {"message_bytes", bytes},
            {"count", 5},
            {"system_counters", false},
            {"timeout_ns", 1'000'000'000}};
}

// Of the records of a run: what kind they are, in their order.
std::vector<std::string> kinds(const std::vector<json>& records) {
    std::vector<std::string> found;
    found.reserve(records.size());
    for (const json& record : records) {
        found.push_back(record.value("record", ""));
    }
    return found;
}

} // namespace

TEST_CASE("a target listens, opens, runs and closes by its row alone") {
    seen = {};
    AskedWorker worker;
    CHECK(worker.ask("listen", {{"transport", "dummy"}, {"timeout_ns", 2'000'000}}) ==
          json{{"dummy_address", "there"}});
    CHECK(worker.ask("open", {{"role", "target"}, {"timeout_ns", 3'000'000}}) ==
          json{{"dummy_rank", target_rank}});
    CHECK(seen.timeout_ns == 3'000'000);
    CHECK(worker.ask("run", latency())["ended_by"] == "count");
    const std::vector<json> records = worker.records();
    CHECK(kinds(records) == std::vector<std::string>{"snapshot", "counters", "snapshot"});
    CHECK(records.front()["rank"] == target_rank);
    CHECK(records.front()["values"]["dummy.messages"] == 1);
    CHECK(records[1]["values"]["messages_sent"] == 5);
    CHECK(seen.open == 1);
    (void)worker.ask("close");
    CHECK(seen.open == 0);
}

TEST_CASE("an origin and an end alone are opened at once") {
    seen = {};
    AskedWorker worker;
    for (const char* role : {"origin", "alone"}) {
        CHECK(worker.ask("open", {{"role", role}, {"transport", "dummy"}}) ==
              json{{"dummy_rank", origin_rank}});
        CHECK(worker.ask("run", latency())["ended_by"] == "count");
        CHECK(worker.records().back()["rank"] == origin_rank);
        CHECK(seen.open == 1); // the one before was closed
    }
}

TEST_CASE("what the transport refuses leaves it open, what fails closes it and tells its peer") {
    seen = {};
    AskedWorker worker;
    (void)worker.ask("open", {{"role", "alone"}, {"transport", "dummy"}});
    json stream = latency();
    stream["test"] = "stream";
    CHECK(worker.refusal("run", stream) == "bad_request: the dummy is for latency");
    CHECK(seen.open == 1);
    CHECK(worker.refusal("run", latency(13)) == "peer_lost: 13 bytes are too many");
    CHECK(seen.aborted == "peer_lost");
    CHECK(seen.open == 0);
    CHECK(worker.refusal("run", latency()) ==
          "bad_request: run comes after open; no transport is open");
}

TEST_CASE("who names no transport is told of every row that has such an end") {
    AskedWorker worker;
    CHECK(worker.refusal("listen", {{"transport", "icmp"}}) ==
          "bad_request: request: transport is icmp, expected tcp, udp, link or dummy");
    CHECK(worker.refusal("open", {{"role", "origin"}, {"transport", "carrier"}}) ==
          "bad_request: request: transport is carrier, expected tcp, udp, link or dummy");
    CHECK(worker.refusal("open", {{"role", "alone"}, {"transport", "tcp"}}) ==
          "bad_request: request: transport is tcp, expected icmp or dummy where the role is alone");
}

TEST_CASE("a real transport is found beside it") {
    AskedWorker worker;
    const json done = worker.ask("listen", {{"transport", "tcp"},
                                            {"family", "ipv4"},
                                            {"cookie", std::string(32, 'a')},
                                            {"timeout_ns", 1'000'000'000}});
    CHECK(done["port"] > 0);
}

TEST_SUITE_END();
