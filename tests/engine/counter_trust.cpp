// engine/core/counter_trust: what is said of the cycle counter, and two CPUs' counters beside
// each other.
#include "core/counter_trust.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "made_folder.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("counter_trust");

namespace {

// A folder as the kernel's, with what it would say.
class ClockSources {
public:
    ClockSources(const std::string& current, const std::string& available) {
        std::ofstream(folder() + "current_clocksource") << current << "\n";
        std::ofstream(folder() + "available_clocksource") << available << " \n";
    }
    [[nodiscard]] std::string folder() const { return folder_.path().string() + "/"; }

private:
    sonde::MadeFolder folder_;
};

} // namespace

#if defined(__x86_64__)
TEST_CASE("a counter that the kernel does not list is not used, whatever the CPU says") {
    CHECK_FALSE(judge_counter({true, "hpet", "hpet acpi_pm"}).trusted);
    CHECK(judge_counter({true, "hpet", "hpet acpi_pm"}).reason ==
          "the kernel distrusts the counter: its clocks are hpet acpi_pm, without tsc");
    CHECK(judge_counter({true, "kvm-clock", "kvm-clock tsc acpi_pm"}).trusted);
    CHECK(judge_counter({false, "tsc", "tsc hpet"}).trusted);
    CHECK(judge_counter({true, "", ""}).trusted); // a kernel that says nothing
    CHECK_FALSE(judge_counter({false, "", ""}).trusted);
    CHECK_FALSE(judge_counter({false, "kvm-clock", "kvm-clock tsc"}).trusted);
    CHECK_FALSE(judge_counter({true, "hpet", "hpet tsc-early"}).trusted); // another name
}
#endif

TEST_CASE("a worker times by the kernel's clock where the kernel distrusts the counter") {
    const ClockSources sources("hpet", "hpet acpi_pm");
    CounterWitnesses told = counter_witnesses(sources.folder());
    CHECK(told.current == "hpet");
    CHECK(told.available == "hpet acpi_pm");
    told.constant = true;
    Timebase timebase(told);
    CHECK_FALSE(timebase.facts().cycle_counter);
    CHECK(timebase.facts().reason.find("distrusts") != std::string::npos);
    CHECK(timebase.facts().cost_ns > 0.0);
    timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        const std::int64_t before_ns = monotonic_ns();
        const std::int64_t read_ns = timebase.to_ns(Clock::now());
        CHECK(read_ns >= before_ns);
        CHECK(read_ns <= monotonic_ns());
    });
}

TEST_CASE("the CPUs that are compared are of two packages where there are two") {
    const ProcessorGroups two{{0, {0, 1}}, {1, {2, 3}}};
    CHECK(distant_processors({0, 1, 2, 3}, two) == std::pair{0, 2});
    CHECK(distant_processors({1, 3}, two) == std::pair{1, 3});
    CHECK(distant_processors({0, 1}, two) == std::pair{0, 1});
    CHECK(distant_processors({4, 5, 7}, {}) == std::pair{4, 7});
    CHECK_FALSE(distant_processors({3}, two));
    CHECK_FALSE(distant_processors({}, {}));
}

TEST_CASE("a counter that is ahead is found ahead, by what it is") {
    const std::vector<int> allowed = read_processors(allowed_cpus());
    const auto pair = distant_processors(allowed, packages());
    if (!pair) {
        return; // one CPU has nobody to be compared with
    }
    // By the monotonic clock, which all CPUs share: the truth is known. Long enough for both
    // threads to run on a machine that others use as well.
    constexpr std::int64_t most_ns = 2'000'000'000;
    const auto reading = [] { return static_cast<std::uint64_t>(monotonic_ns()); };
    for (const std::int64_t ahead_ns :
         {std::int64_t{0}, std::int64_t{5'000'000}, std::int64_t{-5'000'000}}) {
        const auto ahead = [&] { return reading() + static_cast<std::uint64_t>(ahead_ns); };
        const CountersApart found = compare_counters(*pair, most_ns, ahead, reading);
        REQUIRE(found.known());
        CHECK(found.first == pair->first);
        CHECK(found.low_ticks <= ahead_ns);
        CHECK(found.high_ticks >= ahead_ns);
        CHECK((found.least_ticks() == 0) == (ahead_ns == 0));
        CHECK(found.most_ticks() >= std::abs(ahead_ns));
    }
}

TEST_CASE("what cannot be compared is not known") {
    CHECK_FALSE(compare_counters({0, 100'000}, 1'000'000).known());
}
