#include "test/result.hpp"

#include <cmath>

namespace sonde {
namespace {

template <class Convert>
std::vector<std::int64_t> converted(const Samples& samples, Convert convert) {
    std::vector<std::int64_t> values;
    values.reserve(samples.size());
    for (const std::uint64_t value : samples.values()) {
        values.push_back(convert(value));
    }
    return values;
}

} // namespace

std::vector<std::int64_t> since_ns(const Samples& instants, std::uint64_t start_ticks,
                                   const Timebase& timebase) {
    const std::int64_t start_ns = timebase.to_ns(start_ticks);
    return converted(instants,
                     [&](std::uint64_t ticks) { return timebase.to_ns(ticks) - start_ns; });
}

std::vector<std::int64_t> durations_ns(const Samples& durations, const Timebase& timebase) {
    return converted(
        durations, [&](std::uint64_t ticks) { return std::llround(timebase.duration_ns(ticks)); });
}

std::vector<std::int64_t> plain(const Samples& values) {
    return converted(values, [](std::uint64_t value) { return static_cast<std::int64_t>(value); });
}

void write_result(RecordWriter& records, std::int64_t request, const Result& result) {
    for (const auto& series : result.series) {
        records.series(request, series.name, series.unit, series.values);
    }
    records.counters(request, result.counters);
}

nlohmann::json done_values(const Result& result) {
    nlohmann::json values(result.words);
    switch (result.ended_by) {
    case EndedBy::duration:
        values["ended_by"] = "duration";
        break;
    case EndedBy::samples:
        values["ended_by"] = "samples";
        break;
    case EndedBy::interrupt:
        values["ended_by"] = "interrupt";
        break;
    case EndedBy::count:
        values["ended_by"] = "count";
        break;
    }
    return values;
}

} // namespace sonde
