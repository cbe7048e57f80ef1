// The comparisons of a batch as series of its records.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "test/result.hpp"
#include "transport/mpi/clocks.hpp"
#include "transport/mpi/wtime.hpp"

namespace sonde {

class ClockSeries {
public:
    void add(const std::optional<mpi::ClockComparison>& found) {
        if (!found) {
            return;
        }
        parent_ = found->parent;
        if (found->fastest.empty()) {
            add(found->bounds);
        }
        for (const LeadBounds& exchange : found->fastest) {
            add(exchange);
        }
    }

    // MPI_Wtime beside this rank's clock.
    void add(const mpi::WtimeReading& reading) {
        wtime_ahead_ns_.push_back(reading.ahead_ns);
        wtime_bracket_ns_.push_back(reading.bracket_ns);
        at_ns_.push_back(reading.at_ns);
    }

    // clock_name names the clock that this rank reads; ranks of one clock_group compared nothing
    // with each other. The series are over the clock of clock_parent.
    void write(Result& result, const mpi::Clocks& clocks) && {
        result.counters["clock_group"] = clocks.group();
        result.counters["clock_name"] = clocks.name();
        result.counters["clock_method"] = static_cast<std::int64_t>(clocks.method());
        if (at_ns_.empty()) {
            return;
        }
        if (!wtime_ahead_ns_.empty()) {
            result.series.push_back({"wtime_at_ns", "ns", std::move(at_ns_)});
            result.series.push_back({"wtime_ahead_ns", "ns", std::move(wtime_ahead_ns_)});
            result.series.push_back({"wtime_bracket_ns", "ns", std::move(wtime_bracket_ns_)});
            return;
        }
        result.counters["clock_parent"] = parent_;
        result.series.push_back({"clock_at_ns", "ns", std::move(at_ns_)});
        result.series.push_back({"clock_low_ns", "ns", std::move(low_ns_)});
        result.series.push_back({"clock_high_ns", "ns", std::move(high_ns_)});
        result.series.push_back({"clock_round_trip_ns", "ns", std::move(round_trip_ns_)});
    }

private:
    void add(const LeadBounds& bounds) {
        at_ns_.push_back(bounds.at_ns());
        low_ns_.push_back(bounds.low_ns());
        high_ns_.push_back(bounds.high_ns());
        round_trip_ns_.push_back(bounds.round_trip_ns());
    }

    int parent_ = -1;
    std::vector<std::int64_t> at_ns_;
    std::vector<std::int64_t> low_ns_;
    std::vector<std::int64_t> high_ns_;
    std::vector<std::int64_t> round_trip_ns_;
    std::vector<std::int64_t> wtime_ahead_ns_;
    std::vector<std::int64_t> wtime_bracket_ns_;
};

} // namespace sonde
