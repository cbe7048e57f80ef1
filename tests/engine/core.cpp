// engine/core: clock, payload, samples, guard, affinity.
#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/guard.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("core");

namespace {

bool wait_for(const std::atomic<bool>& flag) {
    for (int i = 0; i < 500 && !flag; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return flag;
}

} // namespace

TEST_CASE("ticks become nanoseconds of the monotonic clock") {
    Timebase timebase;
    timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        for (int i = 0; i < 20; ++i) {
            const std::int64_t before = monotonic_ns();
            const std::uint64_t ticks = Clock::now();
            const std::int64_t after = monotonic_ns();
            timebase.refresh();
            constexpr std::int64_t slack_ns = 20'000; // two clocks are not read at one instant
            CHECK(timebase.to_ns(ticks) >= before - slack_ns);
            CHECK(timebase.to_ns(ticks) <= after + slack_ns);
        }
    });
}

TEST_CASE("a duration in ticks agrees with the monotonic clock over 50 ms") {
    Timebase timebase;
    timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        const std::int64_t begin_ns = monotonic_ns();
        const std::uint64_t begin = Clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::uint64_t end = Clock::now();
        const std::int64_t end_ns = monotonic_ns();
        timebase.refresh();
        CHECK(timebase.duration_ns(end - begin) <= static_cast<double>(end_ns - begin_ns) * 1.001);
        CHECK(timebase.duration_ns(end - begin) >= 50e6 * 0.999);
    });
}

TEST_CASE("to_ticks and duration_ns are inverse") {
    const Timebase timebase;
    CHECK(timebase.duration_ns(timebase.to_ticks(1'000'000'000)) == doctest::Approx(1e9));
    CHECK(timebase.facts().tick_ns > 0.0);
    CHECK(timebase.facts().cost_ns > 0.0);
    CHECK(!timebase.facts().reason.empty());
}

TEST_CASE("a payload is what its seed gives, at any place") {
    Payload payload(10'001, 42);
    REQUIRE(payload.bytes().size() == 10'001);
    CHECK(Payload::first_difference(payload.bytes(), 42) == -1);
    CHECK(Payload::first_difference(payload.bytes().subspan(13), 42, 13) == -1);
    CHECK(Payload::first_difference(payload.bytes(), 43) >= 0);
    for (const std::size_t place : {std::size_t{0}, std::size_t{777}, std::size_t{10'000}}) {
        payload.bytes()[place] ^= std::byte{1};
        CHECK(Payload::first_difference(payload.bytes(), 42) == static_cast<std::ptrdiff_t>(place));
        payload.bytes()[place] ^= std::byte{1};
    }
}

TEST_CASE("a payload cannot be compressed: its bytes are spread evenly") {
    Payload payload(1 << 16, 1);
    std::array<int, 256> counts{};
    for (const std::byte byte : payload.bytes()) {
        ++counts.at(std::to_integer<std::size_t>(byte));
    }
    for (const int count : counts) { // 256 expected, standard deviation 16
        CHECK(count > 150);
        CHECK(count < 370);
    }
}

TEST_CASE("an empty payload is allowed") {
    Payload payload(0, 1);
    CHECK(payload.bytes().empty());
    CHECK(Payload::first_difference(payload.bytes(), 1) == -1);
}

TEST_CASE("a payload that does not fit into memory is refused") {
    CHECK_THROWS_WITH_AS(Payload(std::size_t{1} << 46U, 1),
                         doctest::Contains("more than half of the"), Failure);
}

TEST_CASE("samples keep what was pushed") {
    Samples samples(3);
    CHECK(samples.size() == 0);
    samples.push(5);
    samples.push(6);
    CHECK(!samples.full());
    samples.push(7);
    CHECK(samples.full());
    CHECK(samples.values()[2] == 7);
}

TEST_CASE("the guard interrupts a run past its deadline, once") {
    Guard guard(-1);
    std::atomic<bool> interrupted = false;
    const Guard::Watch watch(guard, 30'000'000, [&] { interrupted = true; });
    REQUIRE(wait_for(interrupted));
    CHECK(guard.timed_out());
    CHECK(guard.interrupted());
    CHECK(guard.failure("while testing").code() == "timeout");
}

TEST_CASE("the guard leaves a run alone that ends in time") {
    Guard guard(-1);
    std::atomic<bool> interrupted = false;
    {
        const Guard::Watch watch(guard, 20'000'000, [&] { interrupted = true; });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    CHECK(!interrupted);
    CHECK(!guard.interrupted());
}

TEST_CASE("the guard interrupts when standard input hangs up, also before the run") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    Guard guard(ends[0]);
    std::atomic<bool> first = false;
    {
        const Guard::Watch watch(guard, 60'000'000'000, [&] { first = true; });
        ::close(ends[1]);
        REQUIRE(wait_for(first));
    }
    CHECK(guard.hung_up());
    std::atomic<bool> second = false;
    const Guard::Watch watch(guard, 60'000'000'000, [&] { second = true; });
    CHECK(second);
    CHECK(std::string(guard.failure("while testing").what()).find("standard input") == 0);
    ::close(ends[0]);
}

TEST_CASE("pinning is undone") {
    const std::string before = allowed_cpus();
    {
        const PinnedTo pinned(current_cpu());
        CHECK(allowed_cpus() == std::to_string(current_cpu()));
    }
    CHECK(allowed_cpus() == before);
    CHECK_THROWS_AS(pin_to_cpu(4095), Failure);
}

TEST_SUITE_END();
