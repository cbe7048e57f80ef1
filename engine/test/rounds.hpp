// What the ends of a flow note of rounds: short streams that many flows begin together, again and
// again, nobody before all have ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "test/result.hpp"

namespace sonde {

// At the origin.
class RoundsSent {
public:
    // time_outs: the kernel's count before the first round, where it says one.
    RoundsSent(std::uint64_t most, std::optional<std::int64_t> time_outs) : time_outs_(time_outs) {
        begun_.reserve(most);
        waited_ns_.reserve(most);
        grown_.reserve(most);
    }

    // waited_ns: how long before the start the end was ready; negative where it came late.
    void note(std::uint64_t begun_ticks, std::int64_t waited_ns,
              std::optional<std::int64_t> time_outs) {
        begun_.push_back(begun_ticks);
        waited_ns_.push_back(waited_ns);
        if (time_outs && time_outs_) {
            grown_.push_back(*time_outs - *time_outs_);
        }
        time_outs_ = time_outs;
    }

    void report(Result& result, std::uint64_t start_ticks, const Timebase& timebase) const {
        result.series.push_back({"round_start_ns", "ns", since(begun_, start_ticks, timebase)});
        result.series.push_back({"round_waited_ns", "ns", waited_ns_});
        if (grown_.size() == begun_.size()) {
            result.series.push_back({"round_time_outs", "count", grown_});
        }
        result.count("rounds", begun_.size());
    }

    static std::vector<std::int64_t> since(const std::vector<std::uint64_t>& instants,
                                           std::uint64_t start_ticks, const Timebase& timebase) {
        const std::int64_t start_ns = timebase.to_ns(start_ticks);
        std::vector<std::int64_t> values;
        values.reserve(instants.size());
        for (const std::uint64_t ticks : instants) {
            values.push_back(timebase.to_ns(ticks) - start_ns);
        }
        return values;
    }

private:
    std::optional<std::int64_t> time_outs_; // so far
    std::vector<std::uint64_t> begun_;
    std::vector<std::int64_t> waited_ns_;
    std::vector<std::int64_t> grown_;
};

// At the target.
class RoundsReceived {
public:
    explicit RoundsReceived(std::uint64_t most) { ended_.reserve(most); }

    // part: what the receiver reports of one round; its counters add up.
    void note(std::uint64_t last_arrival_ticks, const Result& part, Result& whole) {
        ended_.push_back(last_arrival_ticks);
        for (const auto& [name, value] : part.counters) {
            whole.counters[name] += value;
        }
    }

    void report(Result& result, std::uint64_t start_ticks, const Timebase& timebase) const {
        result.series.push_back(
            {"round_end_ns", "ns", RoundsSent::since(ended_, start_ticks, timebase)});
        result.count("rounds", ended_.size());
    }

    [[nodiscard]] std::uint64_t last_ticks() const noexcept { return ended_.back(); }

private:
    std::vector<std::uint64_t> ended_;
};

} // namespace sonde
