// bounds: how long a transport takes to be told of memory, and to forget it.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "core/clock.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"

namespace sonde {

// Registers memory of message_bytes again and again, which was touched before: `tell` makes it
// known and returns what knows it, whose end takes that back.
template <class Tell>
void time_registrations(const RunParameters& run, Timebase& timebase, Tell tell, Result& result) {
    Payload memory(run.message_bytes, run.seed);
    Samples told(run.count);
    Samples forgotten(run.count);
    timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        for (std::uint64_t i = 0; i < run.count; ++i) {
            const std::uint64_t begin = Clock::now();
            auto known = tell(memory.bytes());
            const std::uint64_t middle = Clock::now();
            known = {};
            const std::uint64_t end = Clock::now();
            told.push(middle - begin);
            forgotten.push(end - middle);
        }
    });
    timebase.refresh();
    result.series.push_back({"register_ns", "ns", durations_ns(told, timebase)});
    result.series.push_back({"release_ns", "ns", durations_ns(forgotten, timebase)});
    result.count("registrations", run.count);
}

} // namespace sonde
