// Rounds: short streams with a common start each, and the meeting that lets them begin.
#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "play.hpp"
#include "worker/meeting.hpp"

using namespace sonde;
using namespace sonde::fakes;

TEST_SUITE_BEGIN("rounds");

namespace {

const std::atomic<bool> nobody_interrupts{false};

RunParameters rounds_of(std::uint64_t rounds, std::uint64_t count) {
    RunParameters run = run_of(Test::stream, count, 64);
    run.rounds = rounds;
    run.record_messages = false;
    return run;
}

// A target that lets so many rounds follow each other, each 5 ms after the one before.
BatchHooks letting(int rounds) {
    BatchHooks hooks{[] {}, [] {}};
    hooks.next_round = [left = rounds - 1]() mutable -> std::optional<std::int64_t> {
        return left-- > 0 ? std::optional(host_clock_ns(monotonic_ns()) + 5'000'000) : std::nullopt;
    };
    hooks.time_outs = [count = 10]() mutable -> std::optional<std::int64_t> {
        count += count < 12 ? 1 : 0; // one more after the first round
        return count;
    };
    return hooks;
}

MeetingParameters meeting_of(int members, bool leads) {
    MeetingParameters found;
    found.name = "of the tests of " + std::to_string(::getpid());
    found.members = members;
    found.leads = leads;
    found.lead_ns = 1'000'000;
    found.most_ns = 3'600'000'000'000;
    return found;
}

Deadline within(std::int64_t timeout_ns) { return {timeout_ns, nobody_interrupts}; }

} // namespace

TEST_CASE("rounds follow each other over one connection, each with its times") {
    Pair<Stream> pair;
    const RunParameters run = rounds_of(50, 3);
    const Both both = play(pair, run, run, 1, letting(4));
    const auto& begun = series_of(both.origin, "round_start_ns")->values;
    const auto& ended = series_of(both.target, "round_end_ns")->values;
    REQUIRE(begun.size() == 4);
    REQUIRE(ended.size() == 4);
    CHECK(begun[0] == 0);
    for (std::size_t round = 1; round < begun.size(); ++round) {
        CHECK(begun[round] - begun[round - 1] >= 5'000'000); // none before its instant
        CHECK(ended[round] > ended[round - 1]);
    }
    CHECK(length_of(both.origin, "round_waited_ns") == 4);
    CHECK(series_of(both.origin, "round_time_outs")->values ==
          std::vector<std::int64_t>{1, 0, 0, 0});
    CHECK(both.origin.counters.at("messages_sent") == 12);
    CHECK(both.target.counters.at("messages_received") == 12);
    CHECK(both.target.counters.at("bytes_received") == 12 * 64);
    CHECK(both.target.counters.at("rounds") == 4);
    CHECK(both.target.counters.at("end_ns") - both.target.counters.at("start_ns") == ended.back());
}

TEST_CASE("datagrams are counted over all rounds") {
    Pair<Datagrams> pair;
    // One of the first round is lost, so that it ends by silence.
    pair.origin.fate = [](std::uint64_t call) { return Fate{call == 1 ? 0 : 1, 0}; };
    const RunParameters run = rounds_of(3, 4);
    const Both both = play(pair, run, run, 7, letting(3));
    CHECK(both.target.counters.at("messages_received") == 11);
    CHECK(both.target.counters.at("lost") == 1);
    CHECK(both.target.counters.at("duplicates") == 0);
    CHECK(both.origin.counters.at("messages_sent") == 12);
}

TEST_CASE("wrong content is counted over all rounds") {
    Pair<Stream> pair;
    pair.origin.spoil = [](std::uint64_t call) { return call == 0 || call == 5; };
    RunParameters run = rounds_of(3, 2);
    run.check_data = true;
    CHECK(play(pair, run, run, 1, letting(3)).target.counters.at("corrupt") == 2);
}

TEST_CASE("nobody goes on before all have arrived, and all hear one instant") {
    constexpr int members = 3;
    std::atomic<int> arrived = 0;
    std::array<std::future<std::vector<std::int64_t>>, members> all;
    for (std::size_t member = 0; member < members; ++member) {
        all[member] = std::async(std::launch::async, [&arrived, member] {
            Meeting meeting(meeting_of(members, member == 0), 5, within(5'000'000'000));
            std::vector<std::int64_t> instants;
            bool more = true;
            for (int round = 1; more; ++round) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2 * member));
                ++arrived;
                const auto instant = meeting.next_round();
                CHECK(arrived >= members * round);
                more = instant.has_value();
                instants.push_back(instant.value_or(0));
            }
            return instants;
        });
    }
    const auto first = all[0].get();
    CHECK(first.size() == 5);
    CHECK(first.back() == 0);
    CHECK(all[1].get() == first);
    CHECK(all[2].get() == first);
}

TEST_CASE("a meeting of one ends when its time is over") {
    MeetingParameters alone = meeting_of(1, true);
    alone.most_ns = 20'000'000;
    Meeting meeting(alone, 65'536, within(5'000'000'000));
    CHECK(meeting.next_round());
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    CHECK(!meeting.next_round());
}

TEST_CASE("a member that is gone ends the meeting of all") {
    auto leader = std::async(std::launch::async, [] {
        Meeting meeting(meeting_of(2, true), 5, within(5'000'000'000));
        return meeting.next_round();
    });
    { const Meeting member(meeting_of(2, false), 5, within(5'000'000'000)); }
    CHECK_THROWS_WITH_AS((void)leader.get(), "the target of another flow is gone", Failure);
}

TEST_CASE("nobody waits for ever for one who does not come") {
    CHECK_THROWS_AS(Meeting(meeting_of(2, false), 5, within(20'000'000)), Failure);
    CHECK_THROWS_AS(Meeting(meeting_of(2, true), 5, within(20'000'000)), Failure);
}
