// What one end found in one batch, ready to be written as records.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/records.hpp"
#include "core/samples.hpp"

namespace sonde {

// interrupt: told to end by a signal or the end of its input, which only a sender that nobody
// listens to can be without losing what it did.
enum class EndedBy : std::uint16_t { count = 1, duration, samples, interrupt };

struct Result {
    struct Series {
        std::string name;
        std::string unit;
        std::vector<std::int64_t> values;
    };

    std::vector<Series> series;
    std::map<std::string, std::int64_t> counters;
    std::map<std::string, std::string> words; // of its `done`
    EndedBy ended_by = EndedBy::count;

    void count(const std::string& name, std::uint64_t value) {
        counters[name] = static_cast<std::int64_t>(value);
    }
};

// Instants in ticks as ns since start_ticks.
[[nodiscard]] std::vector<std::int64_t> since_ns(const Samples& instants, std::uint64_t start_ticks,
                                                 const Timebase& timebase);
// Durations in ticks as ns.
[[nodiscard]] std::vector<std::int64_t> durations_ns(const Samples& durations,
                                                     const Timebase& timebase);
[[nodiscard]] std::vector<std::int64_t> plain(const Samples& values);

// The series and counters records of a batch.
void write_result(RecordWriter& records, std::int64_t request, const Result& result);
// The values of its `done` record.
[[nodiscard]] nlohmann::json done_values(const Result& result);

} // namespace sonde
