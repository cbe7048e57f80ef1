// Plays one batch at both ends of a pair of fakes.
#pragma once

#include <future>

#include "fakes.hpp"
#include "test/run_test.hpp"

namespace sonde::fakes {

struct Both {
    Result origin;
    Result target;
};

inline const Result::Series* series_of(const Result& result, std::string_view name) {
    for (const auto& series : result.series) {
        if (series.name == name) {
            return &series;
        }
    }
    return nullptr;
}

inline std::int64_t length_of(const Result& result, std::string_view name) {
    const auto* series = series_of(result, name);
    return series == nullptr ? -1 : static_cast<std::int64_t>(series->values.size());
}

template <class Path>
Both play(Pair<Path>& pair, const RunParameters& origin_run, const RunParameters& target_run,
          std::uint32_t batch = 1, const BatchHooks& hooks = {[] {}, [] {}}) {
    auto target = std::async(std::launch::async, [&] {
        Timebase timebase;
        return run_test(pair.target, pair.target_control, 1, batch, target_run, timebase, hooks);
    });
    Timebase timebase;
    Both both;
    both.origin = run_test(pair.origin, pair.origin_control, 0, batch, origin_run, timebase, hooks);
    both.target = target.get();
    return both;
}

template <class Path>
Both play(Pair<Path>& pair, const RunParameters& run, std::uint32_t batch = 1) {
    return play(pair, run, run, batch);
}

inline RunParameters run_of(Test test, std::uint64_t count, std::size_t message_bytes) {
    RunParameters run;
    run.test = test;
    run.count = count;
    run.message_bytes = message_bytes;
    run.call_bytes = std::max<std::size_t>(message_bytes, 1);
    run.interval_ns = 100'000'000;
    run.timeout_ns = 5'000'000'000;
    run.seed = 7;
    return run;
}

} // namespace sonde::fakes
