// What a reading of the timer takes, measured where and when it is used: what is between the two
// readings around a call holds one of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "test/result.hpp"
#include "transport/mpi/wtime.hpp"

namespace sonde {

constexpr int timer_parts = 25;
// So many readings in a row make a part: longer than a step of any timer that is used.
constexpr int timer_part_readings = 100;

// Ticks of each part.
template <class Clock>
[[nodiscard]] std::vector<std::uint64_t> read_in_parts() {
    std::vector<std::uint64_t> parts;
    parts.reserve(timer_parts);
    for (int part = 0; part < timer_parts; ++part) {
        const std::uint64_t begin = Clock::now();
        std::uint64_t end = begin;
        for (int reading = 0; reading < timer_part_readings; ++reading) {
            end = Clock::now();
        }
        parts.push_back(end - begin);
    }
    return parts;
}

// A series with the time of each part, by the timer that the samples are of.
inline void add_timer_cost(Result& result, const Timebase& timebase, bool by_wtime) {
    std::vector<std::int64_t> parts_ns;
    if (by_wtime) {
        const auto parts = read_in_parts<mpi::Wtime>();
        parts_ns.assign(parts.begin(), parts.end());
    } else {
        timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
            for (const std::uint64_t ticks : read_in_parts<Clock>()) {
                parts_ns.push_back(std::llround(timebase.duration_ns(ticks)));
            }
        });
    }
    result.series.push_back({"timer_readings_ns", "ns", std::move(parts_ns)});
}

} // namespace sonde
