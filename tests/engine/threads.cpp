// Round trips of several threads, over transports that are not there.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "play.hpp"
#include "test/threads.hpp"

using namespace sonde;
using namespace sonde::fakes;

TEST_SUITE_BEGIN("threads");

namespace {

// A stream that does something of its own before it sends.
class Watched : public Stream {
public:
    using Stream::Stream;
    void send(std::span<const std::byte> message, std::size_t call_bytes) {
        if (before) {
            before();
        }
        Stream::send(message, call_bytes);
    }

    std::function<void()> before;
};

struct Queues {
    Queue<Message> there;
    Queue<Message> back;
};

// Both ends of so many paths and of one control channel.
struct Ends {
    explicit Ends(std::size_t threads) : queues(threads) {
        for (Queues& own : queues) {
            origins.emplace_back(own.there, own.back);
            targets.emplace_back(own.back, own.there);
        }
    }

    std::deque<Queues> queues;
    std::vector<Watched> origins;
    std::vector<Watched> targets;
    Queue<Frame> control_there;
    Queue<Frame> control_back;
    Control origin_control{control_there, control_back};
    Control target_control{control_back, control_there};
    std::atomic<int> failures = 0;
};

// Of each thread; how many there are the paths say.
RunParameters of_each(std::uint64_t count, std::size_t message_bytes) {
    return run_of(Test::pingpong, count, message_bytes);
}

Both play_threads(Ends& ends, const RunParameters& run) {
    const BatchHooks hooks{[] {}, [] {}};
    auto failed = [&](const std::exception&) { ++ends.failures; };
    auto target = std::async(std::launch::async, [&] {
        Timebase timebase;
        return run_threads(ends.targets, ends.target_control, 1, 1, run, timebase, hooks, failed);
    });
    Timebase timebase;
    Both both;
    both.origin =
        run_threads(ends.origins, ends.origin_control, 0, 1, run, timebase, hooks, failed);
    both.target = target.get();
    return both;
}

std::vector<std::int64_t> of_thread(const Result& result, std::int64_t thread) {
    const auto& times = series_of(result, "round_trip_ns")->values;
    const auto& threads = series_of(result, "thread")->values;
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (threads[i] == thread) {
            found.push_back(times[i]);
        }
    }
    return found;
}

} // namespace

TEST_CASE("every sample of every thread is kept with its thread") {
    Ends ends(3);
    const Both both = play_threads(ends, of_each(50, 100));
    CHECK(length_of(both.origin, "round_trip_ns") == 150);
    CHECK(length_of(both.origin, "thread") == 150);
    for (const std::int64_t thread : {0, 1, 2}) {
        CHECK(of_thread(both.origin, thread).size() == 50);
    }
    CHECK(both.origin.counters.at("threads") == 3);
    CHECK(both.origin.counters.at("messages_sent") == 150);
    CHECK(both.origin.counters.at("bytes_received") == 15'000);
    CHECK(both.origin.counters.at("calls_sent") == 150);
    CHECK(both.target.counters.at("messages_received") == 150);
    CHECK(length_of(both.target, "round_trip_ns") == -1);
}

TEST_CASE("the round trips of a thread add up to its time") {
    Ends ends(4);
    const Both both = play_threads(ends, of_each(40, 8));
    const auto& begins = series_of(both.origin, "thread_begin_ns")->values;
    const auto& finishes = series_of(both.origin, "thread_end_ns")->values;
    REQUIRE(begins.size() == 4);
    REQUIRE(finishes.size() == 4);
    CHECK(length_of(both.origin, "thread_cpu") == 4);
    for (std::size_t thread = 0; thread < 4; ++thread) {
        std::int64_t sum_ns = 0;
        for (const std::int64_t time_ns :
             of_thread(both.origin, static_cast<std::int64_t>(thread))) {
            sum_ns += time_ns;
        }
        const std::int64_t rounding_ns = 40;
        CHECK(sum_ns <= finishes[thread] - begins[thread] + rounding_ns);
        CHECK(begins[thread] >= 0);
    }
}

TEST_CASE("a thread that is answered late has the delay in its own samples") {
    Ends ends(3);
    const auto delay = std::chrono::milliseconds(3);
    ends.targets[1].before = [delay] { std::this_thread::sleep_for(delay); };
    const Both both = play_threads(ends, of_each(20, 8));
    const std::int64_t delay_ns = 3'000'000;
    const auto slow = of_thread(both.origin, 1);
    REQUIRE(slow.size() == 20);
    CHECK(*std::min_element(slow.begin(), slow.end()) >= delay_ns);
}

TEST_CASE("threads are under way at the same time") {
    Ends ends(4);
    std::latch all(4); // nobody's message is answered before everybody has received one
    for (std::size_t i = 0; i < 4; ++i) {
        ends.targets[i].before = [&all, once = true]() mutable {
            if (once) {
                once = false;
                all.arrive_and_wait();
            }
        };
    }
    const Both both = play_threads(ends, of_each(5, 8));
    CHECK(both.origin.counters.at("messages_received") == 20);
}

TEST_CASE("one thread is the one that calls") {
    Ends ends(1);
    std::set<std::thread::id> seen;
    ends.origins[0].before = [&] { seen.insert(std::this_thread::get_id()); };
    play_threads(ends, of_each(5, 8));
    CHECK(seen == std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_CASE("content is right, and a message that another thread got is found wrong") {
    RunParameters run = of_each(10, 64);
    run.check_data = true;
    Ends right(2);
    const Both both = play_threads(right, run);
    CHECK(both.origin.counters.at("corrupt") == 0);
    CHECK(both.target.counters.at("corrupt") == 0);

    Ends crossed(2);
    crossed.targets.clear();
    crossed.targets.emplace_back(crossed.queues[0].back, crossed.queues[1].there);
    crossed.targets.emplace_back(crossed.queues[1].back, crossed.queues[0].there);
    const Both wrong = play_threads(crossed, run);
    CHECK(wrong.target.counters.at("corrupt") == 20);
}

TEST_CASE("what one thread fails of is said at once and comes out") {
    Ends ends(3);
    const BatchHooks hooks{[] {}, [] {}};
    ends.origins[2].before = [] { throw Failure("peer_lost", "gone in the middle"); };
    RunParameters run = of_each(5, 8);
    auto target = std::async(std::launch::async, [&] {
        Timebase timebase;
        try {
            run_threads(ends.targets, ends.target_control, 1, 1, run, timebase, hooks,
                        [](const std::exception&) {});
        } catch (const Failure&) {
            return true; // its third thread waits in vain
        }
        return false;
    });
    Timebase timebase;
    std::string said;
    CHECK_THROWS_WITH_AS(run_threads(ends.origins, ends.origin_control, 0, 1, run, timebase, hooks,
                                     [&](const std::exception& error) {
                                         said = error.what();
                                         ends.queues[2].there.close();
                                     }),
                         "gone in the middle", Failure);
    CHECK(said == "gone in the middle");
    CHECK(target.get());
}

TEST_CASE("threads that need not begin are sent away") {
    Ends ends(4);
    Timebase timebase;
    const BatchHooks hooks{[] { throw Failure("bad_request", "not here"); }, [] {}};
    CHECK_THROWS_WITH_AS(run_threads(ends.origins, ends.origin_control, 0, 1, of_each(5, 8),
                                     timebase, hooks, [](const std::exception&) {}),
                         "not here", Failure);
}

TEST_SUITE_END();
