// engine/host_benchmarks: quanta of work, copies of memory, threads that hand over, HINT.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "host_benchmarks/burner.hpp"
#include "host_benchmarks/context_switches.hpp"
#include "host_benchmarks/copies.hpp"
#include "host_benchmarks/hint.hpp"
#include "host_benchmarks/hint_run.hpp"
#include "host_benchmarks/quanta.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("host_work");

namespace {

const std::atomic<bool> go_on = false;

// Time passes by what is added to it, and by nothing else.
struct MadeTime {
    static std::uint64_t& passed() noexcept {
        static std::uint64_t ticks = 0;
        return ticks;
    }
    static std::uint64_t now() noexcept { return passed(); }
};

} // namespace

TEST_CASE("the amount of work is found that takes the time wanted") {
    const auto work = [](std::uint64_t steps) { MadeTime::passed() += 3 * steps; };
    const std::uint64_t steps = steps_for<MadeTime>(3'000'000, work);
    CHECK(steps == 1'000'000);
}

TEST_CASE("a disturbance is in the quantum that it fell into") {
    int made = 0;
    const auto work = [&] {
        MadeTime::passed() += 100;
        if (++made == 11) { // the first one is not kept
            MadeTime::passed() += 7'000;
        }
    };
    const Samples lengths = time_quanta<MadeTime>(50, work, go_on);
    REQUIRE(lengths.full());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CHECK(lengths.values()[i] == (i == 9 ? 7'100 : 100));
    }
}

TEST_CASE("places lie apart, and every one comes before any comes again") {
    for (const std::size_t block : {1UL, 64UL, 1'000UL, 4'096UL, 70'000UL}) {
        Places places(1U << 20U, block);
        std::set<std::size_t> seen;
        for (std::size_t i = 0; i < places.count(); ++i) {
            const std::size_t offset = places.next();
            REQUIRE(offset + block <= 1U << 20U);
            const auto after = seen.lower_bound(offset);
            CHECK((after == seen.end() || *after >= offset + block));
            CHECK((after == seen.begin() || *std::prev(after) + block <= offset));
            seen.insert(offset);
        }
        CHECK(seen.contains(places.next()));
    }
    CHECK_THROWS_AS(Places(8'191, 4'096), Failure);
}

TEST_CASE("what is copied arrives, from warm and from cold memory") {
    for (const std::size_t bytes : {1UL, 63UL, 4'096UL, 100'000UL}) {
        for (const int cold : {0, 1, 2, 3}) {
            Copies copies({.bytes = bytes,
                           .source_is_cold = (cold & 1) != 0,
                           .destination_is_cold = (cold & 2) != 0,
                           .arena_bytes = 1U << 20U});
            copies.choose();
            const bool before = copies.arrived();
            const Samples lengths = time_copies<MonotonicClock>(3, copies, go_on);
            CHECK(lengths.full());
            CHECK_FALSE(before);
            CHECK(copies.arrived());
        }
    }
}

TEST_CASE("a byte goes round alone and between threads") {
    const HandOffs alone = hand_off(200, 0, std::nullopt, go_on);
    CHECK(alone.round_trips.full());
    const HandOffs same = hand_off(200, 0, 0, go_on);
    CHECK(same.round_trips.full());
    CHECK(same.times_asleep >= 20); // on one CPU somebody must let go
    CHECK_THROWS_AS((void)hand_off(10, 0, 1'000, go_on), Failure);
    const std::atomic<bool> cancelled = true;
    CHECK(hand_off(10, 0, 0, cancelled).round_trips.size() == 0);
}

TEST_CASE("other work takes its share and no more, and ends when it is told to") {
    constexpr std::int64_t long_ns = 60'000'000'000;
    for (const double share : {0.2, 1.0}) {
        Burner burner({.cpus = {0}, .share = share, .nice = 5, .longest_ns = long_ns});
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const std::vector<Burnt> found = burner.rest();
        REQUIRE(found.size() == 1);
        CHECK(found[0].cpu == 0);
        CHECK(found[0].processor_ns > 0);
        CHECK(found[0].lasted_ns >= 190'000'000);
        CHECK(found[0].lasted_ns < long_ns / 2);
        const double got =
            static_cast<double>(found[0].processor_ns) / static_cast<double>(found[0].lasted_ns);
        CHECK(got <= share + 0.06); // of its last period it may not have slept the rest
    }
}

TEST_CASE("other work ends by itself, and wants CPUs that are there") {
    Burner burner({.cpus = {0}, .share = 0.5, .nice = 0, .longest_ns = 30'000'000});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(burner.rest().at(0).processor_ns <= 25'000'000); // half of 30 ms and of a last period
    CHECK_THROWS_AS(Burner({.cpus = {0, 1'000}, .share = 1, .nice = 0, .longest_ns = 1'000}),
                    Failure);
}

TEST_CASE("the bounds of HINT hold the integral, and come together") {
    for (const std::string number : {"double", "float", "int64"}) {
        for (const unsigned threads : {1U, 3U}) {
            double before = 1.0;
            for (const std::size_t subintervals : {6UL, 60UL, 600UL, 6'000UL}) {
                CAPTURE(number);
                CAPTURE(subintervals);
                const HintPoint point = run_hint(number, subintervals, threads);
                CHECK(point.subintervals == subintervals);
                const double tolerance = number == "float" ? 1e-6 : 0.0;
                CHECK(point.lower <= hint_integral + tolerance);
                CHECK(point.upper >= hint_integral - tolerance);
                CHECK(point.upper - point.lower < before / 5);
                before = point.upper - point.lower;
            }
        }
    }
    CHECK_THROWS_AS((void)run_hint("complex", 10, 1), Failure);
}

TEST_CASE("HINT splits where the bounds differ most") {
    Hint<Floating<double>> hint(4, 0.0, 1.0);
    CHECK(hint.upper() == doctest::Approx(1.0));
    CHECK(hint.lower() == doctest::Approx(0.0));
    hint.grow(2); // at 1/2, where the function is 1/3
    CHECK(hint.upper() == doctest::Approx(0.5 + 0.5 / 3));
    CHECK(hint.lower() == doctest::Approx(0.5 / 3));
    hint.grow(3); // the left half differs by 1/3, the right one by 1/6
    CHECK(hint.upper() == doctest::Approx(0.25 + 0.25 * 0.6 + 0.5 / 3));
}

TEST_SUITE_END();
