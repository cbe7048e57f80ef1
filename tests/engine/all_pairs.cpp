// All pairs over a mesh that is not there: everybody asks and is answered, whatever comes first.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "fakes.hpp"
#include "test/all_pairs.hpp"

using namespace sonde;
using namespace sonde::fakes;

TEST_SUITE_BEGIN("all_pairs");

namespace {

struct Letter {
    int from = 0;
    bool is_question = false;
    Message content;
};
using Letters = std::deque<Queue<Letter>>; // of each end

// One end of a mesh of queues. `spoil` changes a byte of every answer.
class Mesh {
public:
    Mesh(Letters& letters, int own, bool spoil = false)
        : letters_(letters), own_(own), spoil_(spoil) {}

    void listen(std::span<std::byte> in) {
        REQUIRE_FALSE(question_.has_value());
        question_ = in;
    }
    void ask(int partner, std::span<const std::byte> out, std::span<std::byte> in) {
        answer_ = in;
        put(partner, out, true);
    }
    std::optional<int> await() {
        Letter letter = next();
        const std::span<std::byte> place =
            letter.is_question ? *std::exchange(question_, std::nullopt) : answer_;
        REQUIRE(letter.content.size() == place.size());
        std::ranges::copy(letter.content, place.begin());
        return letter.is_question ? std::optional(letter.from) : std::nullopt;
    }
    void answer(int partner, std::span<const std::byte> out) { put(partner, out, false); }

private:
    void put(int partner, std::span<const std::byte> out, bool is_question) {
        Message content(out.begin(), out.end());
        if (spoil_ && !is_question && !content.empty()) {
            content.back() ^= std::byte{1};
        }
        letters_.at(static_cast<std::size_t>(partner)).put({own_, is_question, content});
    }
    // A question waits until somebody listens.
    Letter next() {
        if (question_ && !early_.empty()) {
            Letter letter = early_.front();
            early_.pop_front();
            return letter;
        }
        while (true) {
            auto letter = letters_.at(static_cast<std::size_t>(own_)).take(long_time);
            if (!letter) {
                throw Failure("peer_lost", "nobody said anything");
            }
            if (!letter->is_question || question_) {
                return *letter;
            }
            early_.push_back(*letter);
        }
    }

    Letters& letters_;
    int own_;
    bool spoil_;
    std::span<std::byte> answer_;
    std::optional<std::span<std::byte>> question_;
    std::deque<Letter> early_;
};

static_assert(MeshTransport<Mesh>);

RunParameters run_of(std::size_t message_bytes, std::uint64_t count, bool check) {
    RunParameters run;
    run.message_bytes = message_bytes;
    run.count = count;
    run.check_data = check;
    run.seed = 7;
    return run;
}

std::vector<AskedPair> every_pair(int ends) {
    std::vector<AskedPair> pairs;
    for (int from = 0; from < ends; ++from) {
        for (int to = 0; to < ends; ++to) {
            pairs.push_back({from, to});
        }
    }
    return pairs;
}

std::vector<Result> play(int ends, std::span<const AskedPair> pairs, const RunParameters& run,
                         int spoiled = -1) {
    Letters letters(static_cast<std::size_t>(ends));
    std::vector<Result> results(static_cast<std::size_t>(ends));
    std::vector<std::thread> threads;
    for (int own = 0; own < ends; ++own) {
        threads.emplace_back([&, own] {
            const Timebase timebase;
            Mesh path(letters, own, own == spoiled);
            AllPairsEnd<Mesh> end(run, pairs, own);
            end.play<MonotonicClock>(path);
            end.report(results.at(static_cast<std::size_t>(own)), timebase);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return results;
}

std::size_t round_trips(const Result& result) {
    return result.series.empty() ? 0 : result.series.front().values.size();
}

} // namespace

TEST_CASE("every end has its round trips with every one, itself too") {
    for (const int ends : {1, 2, 5}) {
        for (const std::size_t size : {0, 64}) {
            const std::vector<AskedPair> pairs = every_pair(ends);
            for (const Result& result : play(ends, pairs, run_of(size, 4, true))) {
                const auto messages = static_cast<std::int64_t>(2 * 4 * ends);
                CHECK(round_trips(result) == static_cast<std::size_t>(4 * ends));
                CHECK(result.counters.at("messages_sent") == messages);
                CHECK(result.counters.at("messages_received") == messages);
                CHECK(result.counters.at("bytes_sent") ==
                      messages * static_cast<std::int64_t>(size));
                CHECK(result.counters.at("corrupt") == 0);
            }
        }
    }
}

TEST_CASE("who is not asked to ask answers only, and who has no part does nothing") {
    const std::vector<AskedPair> pairs{{0, 2}, {3, 3}};
    const std::vector<Result> results = play(4, pairs, run_of(16, 3, false));
    CHECK(round_trips(results[0]) == 3);
    CHECK(round_trips(results[1]) == 0);
    CHECK(results[1].counters.at("messages_sent") == 0);
    CHECK(round_trips(results[2]) == 0);
    CHECK(results[2].counters.at("messages_sent") == 3);
    CHECK(round_trips(results[3]) == 3);
    CHECK(results[3].counters.at("messages_sent") == 6);
    CHECK_FALSE(results[0].counters.contains("corrupt"));
}

TEST_CASE("an answer that is not what was asked is found by who asked") {
    const std::vector<AskedPair> pairs{{0, 1}, {1, 0}};
    const std::vector<Result> results = play(2, pairs, run_of(64, 5, true), 1);
    CHECK(results[0].counters.at("corrupt") == 5);
    CHECK(results[1].counters.at("corrupt") == 0);
}

TEST_SUITE_END();
