#include "host_benchmarks/clocks.hpp"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <ctime>
#include <string_view>

#include "core/failure.hpp"
#include "host_benchmarks/readings.hpp"

namespace sonde {
namespace {

// A clock that stands still is watched so long for its steps; a tick is 10 ms at most.
constexpr std::int64_t watch_ns = 200'000'000;
constexpr std::uint64_t wanted_steps = 10;

std::uint64_t whole_ns(const timespec& time) noexcept {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

double stated_by_kernel(clockid_t id) {
    timespec resolution{};
    if (::clock_getres(id, &resolution) != 0) {
        throw system_failure("ask for the resolution of a clock");
    }
    return static_cast<double>(whole_ns(resolution));
}

template <clockid_t id>
struct KernelClock {
    static constexpr bool steps = true;
    [[nodiscard]] static std::uint64_t now() noexcept {
        timespec time{};
        ::clock_gettime(id, &time);
        return whole_ns(time);
    }
    [[nodiscard]] static double stated_ns() { return stated_by_kernel(id); }
};

struct TimeOfDay {
    static constexpr bool steps = true;
    [[nodiscard]] static std::uint64_t now() noexcept {
        timeval time{};
        ::gettimeofday(&time, nullptr);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_usec) * 1'000U;
    }
    [[nodiscard]] static double stated_ns() { return 1'000.0; } // it answers in microseconds
};

struct SystemCall {
    static constexpr bool steps = true;
    [[nodiscard]] static std::uint64_t now() noexcept {
        timespec time{};
        ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
        return whole_ns(time);
    }
    [[nodiscard]] static double stated_ns() { return stated_by_kernel(CLOCK_MONOTONIC); }
};

struct Nothing {
    static constexpr bool steps = false;
    [[nodiscard]] static std::uint64_t now() noexcept { return 0; }
};

// unit_ns: length of the clock's unit, 0 where it has no constant one.
template <class Clock>
ClockFound read_in_units(std::size_t count, Timebase& timebase, const std::atomic<bool>& cancelled,
                         double unit_ns) {
    ClockFound found;
    Readings readings = timebase.with_clock([&]<class Reference>(Reference /*reference*/) {
        auto made = read_often<Clock, Reference>(count, cancelled);
        if constexpr (Clock::steps) {
            watch_steps<Clock, Reference>(made.steps, wanted_steps, timebase.to_ticks(watch_ns),
                                          cancelled);
        }
        return made;
    });
    timebase.refresh();
    found.call_ns.reserve(readings.calls.size());
    for (const std::uint64_t ticks : readings.calls.values()) {
        found.call_ns.push_back(std::llround(timebase.duration_ns(ticks)));
    }
    found.steps = readings.steps.forward;
    found.steps_back = readings.steps.backward;
    if (unit_ns > 0.0 && readings.steps.smallest != Steps::none) {
        found.smallest_step_ns = static_cast<double>(readings.steps.smallest) * unit_ns;
    }
    return found;
}

template <class Clock>
ClockFound read_plain(std::size_t count, Timebase& timebase, const std::atomic<bool>& cancelled) {
    ClockFound found = read_in_units<Clock>(count, timebase, cancelled, 1.0);
    if constexpr (Clock::steps) {
        found.stated_resolution_ns = Clock::stated_ns();
    }
    return found;
}

struct Counter : CycleCounter {
    static constexpr bool steps = true;
};

ClockFound read_counter(std::size_t count, Timebase& timebase, const std::atomic<bool>& cancelled) {
    if constexpr (!CycleCounter::exists) {
        ClockFound found;
        found.absent = timebase.facts().reason;
        return found;
    }
    const ClockFacts facts = timebase.facts();
    ClockFound found = read_in_units<Counter>(count, timebase, cancelled,
                                              facts.cycle_counter ? facts.tick_ns : 0.0);
    if (facts.cycle_counter) {
        found.stated_resolution_ns = facts.tick_ns;
    }
    return found;
}

using Read = ClockFound (*)(std::size_t, Timebase&, const std::atomic<bool>&);
struct NamedClock {
    std::string_view name;
    Read read;
};

constexpr std::array<NamedClock, 11> known_clocks{{
    {"nothing", read_plain<Nothing>},
    {"counter", read_counter},
    {"realtime", read_plain<KernelClock<CLOCK_REALTIME>>},
    {"monotonic", read_plain<KernelClock<CLOCK_MONOTONIC>>},
    {"monotonic_raw", read_plain<KernelClock<CLOCK_MONOTONIC_RAW>>},
    {"realtime_coarse", read_plain<KernelClock<CLOCK_REALTIME_COARSE>>},
    {"monotonic_coarse", read_plain<KernelClock<CLOCK_MONOTONIC_COARSE>>},
    {"process_cputime", read_plain<KernelClock<CLOCK_PROCESS_CPUTIME_ID>>},
    {"thread_cputime", read_plain<KernelClock<CLOCK_THREAD_CPUTIME_ID>>},
    {"gettimeofday", read_plain<TimeOfDay>},
    {"system_call", read_plain<SystemCall>},
}};

} // namespace

const std::vector<std::string>& clock_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        found.reserve(known_clocks.size());
        for (const NamedClock& clock : known_clocks) {
            found.emplace_back(clock.name);
        }
        return found;
    }();
    return names;
}

ClockFound read_clock(const std::string& name, std::size_t count, Timebase& timebase,
                      const std::atomic<bool>& cancelled) {
    for (const NamedClock& clock : known_clocks) {
        if (clock.name == name) {
            return clock.read(count, timebase, cancelled);
        }
    }
    throw Failure("bad_request", "request: clock is " + name + ", which is none that is known");
}

} // namespace sonde
