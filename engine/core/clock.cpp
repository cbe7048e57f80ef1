#include "core/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/affinity.hpp"
#include "core/processors.hpp"

namespace sonde {
namespace {

// Two rates of the counter, measured 10 ms apart, may differ by this much and still be called
// constant: reading both clocks together is uncertain by some 100 ns in 10 ms.
constexpr double rate_tolerance = 1e-4;
constexpr std::int64_t window_ns = 10'000'000;
constexpr int cost_readings = 2'000;

// The counters of two CPUs, seen while the rates are watched. On a busy host their threads
// may not run together in this time: then nothing is known, and nothing is claimed.
constexpr std::int64_t compared_ns = 3'000'000;
// Above what ordering leaves open in two readings.
constexpr double alike_ns = 100.0;

double apart_ns(const CountersApart& counters, double tick_ns) {
    return static_cast<double>(counters.least_ticks()) * tick_ns;
}

CountersApart processors_beside_each_other() {
    const auto pair = distant_processors(read_processors(allowed_cpus()), packages());
    return pair ? compare_counters(*pair, compared_ns) : CountersApart{};
}

template <class Clock>
void measure_reading(ClockFacts& facts) {
    std::array<std::uint64_t, cost_readings> steps{};
    std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t previous = Clock::now();
    for (auto& step : steps) {
        const std::uint64_t now = Clock::now();
        step = now - previous;
        if (step != 0) {
            smallest = std::min(smallest, step);
        }
        previous = now;
    }
    std::nth_element(steps.begin(), steps.begin() + cost_readings / 2, steps.end());
    facts.cost_ns = static_cast<double>(steps[cost_readings / 2]) * facts.tick_ns;
    facts.resolution_ns = static_cast<double>(smallest) * facts.tick_ns;
}

struct EmulatedClock {
    std::int64_t offset_ns = 0;
    std::int64_t drift_ppb = 0;
};

// "h1=OFFSET_NS,DRIFT_PPB h2=..."; every host of the lab gets the same text and finds itself by its
// name, so that it reaches ranks by whatever way their MPI starts them.
const EmulatedClock& emulated_clock() noexcept {
    static const EmulatedClock clock = [] {
        EmulatedClock found;
        const char* text = std::getenv("NETSONDE_LAB_CLOCKS");
        std::array<char, 256> name{};
        if (text == nullptr || ::gethostname(name.data(), name.size() - 1) != 0) {
            return found;
        }
        const std::string wanted = std::string(name.data()) + "=";
        std::istringstream entries(text);
        for (std::string entry; entries >> entry;) {
            char comma = ' ';
            if (entry.starts_with(wanted)) {
                std::istringstream numbers(entry.substr(wanted.size()));
                numbers >> found.offset_ns >> comma >> found.drift_ppb;
            }
        }
        return found;
    }();
    return clock;
}

std::string first_word_of(const char* path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

} // namespace

std::int64_t host_clock_ns(std::int64_t monotonic_ns) noexcept {
    const EmulatedClock& clock = emulated_clock();
    // In two steps: the product of the whole would overflow after some hours.
    constexpr std::int64_t billion = 1'000'000'000;
    const std::int64_t drifted_ns = monotonic_ns / billion * clock.drift_ppb +
                                    monotonic_ns % billion * clock.drift_ppb / billion;
    return monotonic_ns + clock.offset_ns + drifted_ns;
}

void await_host_clock(std::int64_t instant_ns, const std::function<bool()>& cancelled) {
    // A sleep ends up to some tens of microseconds late even with the smallest timer slack.
    constexpr std::int64_t spin_ns = 200'000;
    constexpr std::int64_t longest_sleep_ns = 20'000'000;
    for (;;) {
        const std::int64_t left_ns = instant_ns - host_clock_ns(monotonic_ns());
        if (left_ns <= 0) {
            return;
        }
        if (left_ns > 2 * spin_ns) {
            if (cancelled()) {
                return;
            }
            const timespec pause{0,
                                 static_cast<long>(std::min(left_ns - spin_ns, longest_sleep_ns))};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        }
    }
}

std::string clock_group() {
    const std::string boot = first_word_of("/proc/sys/kernel/random/boot_id");
    std::array<char, 64> time_namespace{};
    const ssize_t length =
        ::readlink("/proc/self/ns/time", time_namespace.data(), time_namespace.size() - 1);
    // A kernel without time namespaces has one clock; a host that does not name its boot is alone.
    const std::string space =
        length > 0 ? std::string(time_namespace.data(), static_cast<std::size_t>(length)) : "";
    const EmulatedClock& clock = emulated_clock();
    const std::string alone = boot.empty() ? "process " + std::to_string(::getpid()) : boot;
    return alone + " " + space + " " + std::to_string(clock.offset_ns) + " " +
           std::to_string(clock.drift_ppb);
}

Timebase::Anchor Timebase::take_anchor() noexcept {
    // The narrowest of a few brackets: an interrupt between the two readings widens its bracket.
    constexpr int attempts = 8;
    Anchor best;
    std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t before = CycleCounter::now();
        const std::int64_t ns = host_clock_ns(monotonic_ns());
        const std::uint64_t width = CycleCounter::now() - before;
        if (width < narrowest) {
            narrowest = width;
            best = {before + width / 2, ns};
        }
    }
    return best;
}

Timebase::Timebase(const CounterWitnesses& told) {
    const auto wait_until = [](std::int64_t ns) {
        while (monotonic_ns() < ns) {
            const timespec pause{0,
                                 static_cast<long>(std::max(ns - monotonic_ns(), std::int64_t{1}))};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        }
    };
    const CounterVerdict verdict = judge_counter(told);
    facts_.reason = verdict.reason;
    first_ = take_anchor();
    const std::int64_t begin_ns = monotonic_ns();
    if (verdict.trusted) {
        facts_.counters = processors_beside_each_other();
    }
    wait_until(begin_ns + window_ns);
    const Anchor middle = take_anchor();
    wait_until(monotonic_ns() + window_ns);
    last_ = take_anchor();
    const auto rate = [](const Anchor& a, const Anchor& b) {
        return static_cast<double>(b.ns - a.ns) / static_cast<double>(b.ticks - a.ticks);
    };
    const double drift = std::abs(rate(first_, middle) / rate(middle, last_) - 1.0);
    const double tick_ns = rate(first_, last_);
    facts_.cycle_counter = verdict.trusted && drift < rate_tolerance;
    if (verdict.trusted && !facts_.cycle_counter) {
        facts_.reason =
            "the counter's rate changed against the monotonic clock while it was checked";
    } else if (apart_ns(facts_.counters, tick_ns) > alike_ns) {
        facts_.cycle_counter = false;
        facts_.reason = "the counters of CPUs " + std::to_string(facts_.counters.first) + " and " +
                        std::to_string(facts_.counters.second) + " differ by at least " +
                        std::to_string(std::llround(apart_ns(facts_.counters, tick_ns))) + " ns";
    }
    facts_.counter_tick_ns = tick_ns;
    if (facts_.cycle_counter) {
        facts_.tick_ns = tick_ns;
        measure_reading<CycleCounter>(facts_);
    } else {
        first_ = last_ = {};
        measure_reading<MonotonicClock>(facts_);
    }
}

Timebase Timebase::ahead_of_host(std::int64_t ahead_ns) { return Timebase(Ahead{ahead_ns}); }

void Timebase::refresh() {
    if (!facts_.cycle_counter) {
        return;
    }
    last_ = take_anchor();
    facts_.tick_ns =
        static_cast<double>(last_.ns - first_.ns) / static_cast<double>(last_.ticks - first_.ticks);
}

std::int64_t Timebase::to_ns(std::uint64_t ticks) const noexcept {
    if (ahead_) {
        return static_cast<std::int64_t>(ticks) - ahead_->ns;
    }
    if (!facts_.cycle_counter) {
        return host_clock_ns(static_cast<std::int64_t>(ticks));
    }
    // Relative to the newer anchor: a double then has 53 bits for a small distance.
    const auto distance = static_cast<std::int64_t>(ticks - last_.ticks);
    return last_.ns + std::llround(static_cast<double>(distance) * facts_.tick_ns);
}

} // namespace sonde
