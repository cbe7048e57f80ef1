// engine/host_benchmarks: what reading a clock costs, how it steps, how long sleeps last. The
// clocks here move only when they are read, so that every figure is known beforehand.
#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "host_benchmarks/clocks.hpp"
#include "host_benchmarks/readings.hpp"
#include "host_benchmarks/sleeps.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("host_clocks");

namespace {

const std::atomic<bool> go_on = false;
const std::atomic<bool> cancelled = true;

// Time passes by the cost of each reading, and by nothing else.
std::uint64_t now_ns = 0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

template <std::uint64_t cost_ns, std::uint64_t step_ns>
struct MadeClock {
    static std::uint64_t now() noexcept {
        now_ns += cost_ns;
        return now_ns / step_ns * step_ns;
    }
};

// Each second reading lies before the one before it.
struct RestlessClock {
    static std::uint64_t now() noexcept {
        static std::uint64_t readings = 0;
        return ++readings % 2 == 0 ? 1'000 : 1'005;
    }
};

using Reference = MadeClock<7, 1>;

bool all_are(const Samples& samples, std::uint64_t value) {
    return std::ranges::all_of(samples.values(), [&](auto sample) { return sample == value; });
}

} // namespace

TEST_CASE("a reading costs what the clock takes, beside one reading of the reference") {
    const Readings found = read_often<MadeClock<25, 1>, Reference>(100'000, go_on);
    REQUIRE(found.calls.size() == 100'000);
    CHECK(all_are(found.calls, 25 + 7));
    CHECK(found.steps.forward == 100'000);
    CHECK(found.steps.backward == 0);
    // The first follows a reading that was not timed; from then on two of the reference lie
    // between.
    CHECK(found.steps.smallest == 25 + 7);
}

TEST_CASE("a clock of coarse steps costs the same and shows its step") {
    const Readings found = read_often<MadeClock<25, 1'000>, Reference>(10'000, go_on);
    CHECK(all_are(found.calls, 25 + 7));
    CHECK(found.steps.smallest == 1'000);
    // 39 ns pass from reading to reading.
    CHECK(found.steps.forward >= 389);
    CHECK(found.steps.forward <= 391);
}

TEST_CASE("a clock that stood still is watched until it has stepped often enough") {
    Readings found = read_often<MadeClock<25, 4'000'000>, Reference>(1'000, go_on);
    REQUIRE(found.steps.forward <= 1);
    watch_steps<MadeClock<25, 4'000'000>, Reference>(found.steps, 10, 200'000'000, go_on);
    CHECK(found.steps.forward == 10);
    CHECK(found.steps.smallest == 4'000'000);
}

TEST_CASE("nothing but the clock lies between readings that are watched") {
    Steps steps;
    watch_steps<MadeClock<25, 1>, Reference>(steps, 10, 10'000, go_on);
    CHECK(steps.smallest == 25);
    CHECK(steps.forward >= 10);
}

TEST_CASE("a clock that never moves is not watched for ever") {
    struct Stopped {
        static std::uint64_t now() noexcept { return 5; }
    };
    Steps steps;
    const std::uint64_t start = now_ns;
    watch_steps<Stopped, Reference>(steps, 10, 10'000, go_on);
    CHECK(steps.forward == 0);
    CHECK(steps.smallest == Steps::none);
    CHECK(now_ns - start < 10'100);
    watch_steps<Stopped, Reference>(steps, 10, UINT64_MAX, cancelled);
}

TEST_CASE("steps back are counted apart and are not the smallest") {
    const Readings found = read_often<RestlessClock, Reference>(1'000, go_on);
    CHECK(found.steps.forward == 500);
    CHECK(found.steps.backward == 500);
    CHECK(found.steps.smallest == 5);
}

TEST_CASE("nobody waits for readings or sleeps once they are cancelled") {
    CHECK(read_often<MadeClock<25, 1>, Reference>(1'000'000, cancelled).calls.size() == 0);
    const Samples slept = sleep_often<Reference>(
        10'000, [](std::uint64_t) {}, cancelled);
    CHECK(slept.size() == 0);
}

TEST_CASE("a sleep lasts from before its call to after it") {
    using Clock = MadeClock<10, 1>;
    std::uint64_t asked_from = 0;
    const Samples slept = sleep_often<Clock>(
        100,
        [&](std::uint64_t start) {
            CHECK(start > asked_from);
            asked_from = start;
            now_ns += 10'000 + 55'000; // so long was asked for, and so late it ended
        },
        go_on);
    REQUIRE(slept.size() == 100);
    CHECK(all_are(slept, 65'000 + 10));
}

TEST_CASE("no call returns before its time") {
    for (const std::string name : {"nanosleep", "usleep", "clock_nanosleep", "select", "poll"}) {
        const SleepCall& call = sleep_call(name);
        for (const std::int64_t asked_ns : {std::int64_t{0}, call.unit_ns, 2'000'000L}) {
            const Samples slept = sleep_often<MonotonicClock>(
                5,
                [&](std::uint64_t start) {
                    call.sleep(asked_ns, static_cast<std::int64_t>(start));
                },
                go_on);
            INFO(name, " of ", asked_ns, " ns");
            CHECK(std::ranges::all_of(slept.values(), [&](std::uint64_t length) {
                return length >= static_cast<std::uint64_t>(asked_ns);
            }));
        }
    }
    CHECK_THROWS_AS((void)sleep_call("nap"), Failure);
}

TEST_CASE("the timer slack is lent and given back") {
    REQUIRE(::prctl(PR_SET_TIMERSLACK, 12'345UL, 0, 0, 0) == 0);
    {
        const UsualTimerSlack slack;
        CHECK(slack.slack_ns() == ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
        CHECK(slack.slack_ns() != 12'345);
    }
    CHECK(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 12'345);
    ::prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0);
}

TEST_CASE("every clock of this host is read as often as asked, and steps") {
    Timebase timebase;
    for (const std::string& name : clock_names()) {
        INFO(name);
        const ClockFound found = read_clock(name, 3'000, timebase, go_on);
        if (name == "counter" && !CycleCounter::exists) {
            CHECK(!found.absent.empty());
            continue;
        }
        CHECK(found.absent.empty());
        REQUIRE(found.call_ns.size() == 3'000);
        CHECK(std::ranges::all_of(found.call_ns, [](std::int64_t ns) { return ns >= 0; }));
        CHECK(std::ranges::any_of(found.call_ns, [](std::int64_t ns) { return ns > 0; }));
        if (name == "nothing") {
            CHECK(found.steps == 0);
            CHECK(!found.stated_resolution_ns);
        } else if (name != "counter") {
            CHECK(found.steps > 0);
            CHECK(found.smallest_step_ns.value_or(0) > 0);
            CHECK(found.stated_resolution_ns.value_or(0) > 0);
        }
    }
    CHECK_THROWS_AS((void)read_clock("sundial", 10, timebase, go_on), Failure);
}
