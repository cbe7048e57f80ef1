// One batch of an end at whose other end nobody of ours is: nothing to agree with, nothing to ask.
#pragma once

#include <cstdint>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "test/result.hpp"
#include "test/run_test.hpp"
#include "test/synchronise.hpp"

namespace sonde {

// Calls play(path, clock, start) between the hooks; start.ticks is when it began. The path's calls
// are those of this batch alone.
template <class Path, class Play>
Result play_alone(Path& path, Start& start, Timebase& timebase, const BatchHooks& hooks,
                  Play play) {
    Result result;
    hooks.before();
    const std::uint64_t end_ticks = timebase.with_clock([&]<class Clock>(Clock clock) {
        start.ticks = Clock::now();
        play(path, clock, start);
        return Clock::now();
    });
    const int cpu = current_cpu();
    hooks.after();
    timebase.refresh();
    count_own(path, result);
    result.counters["start_ns"] = timebase.to_ns(start.ticks);
    result.counters["end_ns"] = timebase.to_ns(end_ticks);
    result.counters["cpu"] = cpu;
    result.count("calls_sent", path.calls_sent());
    return result;
}

} // namespace sonde
