// What one clock is ahead of another, from messages between the two: never measured, only bounded,
// since no message arrives before it was sent (F. Cristian 1989).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sonde {

// One exchange: the asking end's clock before and after, the answering end's in between.
struct ClockExchange {
    std::int64_t asked_ns = 0;
    std::int64_t came_ns = 0;
    std::int64_t answered_ns = 0;
    std::int64_t heard_ns = 0;
};

// The asking end's clock less the answering end's lies between low_ns and high_ns at at_ns of the
// asking end's. Of several exchanges every bound holds, so the tightest are kept; that they may
// come from different exchanges makes the middle less sensitive to one that waited.
class LeadBounds {
public:
    void add(const ClockExchange& exchange) noexcept {
        low_ns_ = std::max(low_ns_, exchange.asked_ns - exchange.came_ns);
        high_ns_ = std::min(high_ns_, exchange.heard_ns - exchange.answered_ns);
        const std::int64_t round_trip_ns =
            exchange.heard_ns - exchange.asked_ns - (exchange.answered_ns - exchange.came_ns);
        if (round_trip_ns < round_trip_ns_) {
            round_trip_ns_ = round_trip_ns;
            at_ns_ = exchange.asked_ns + (exchange.heard_ns - exchange.asked_ns) / 2;
        }
        ++exchanges_;
    }

    [[nodiscard]] std::int64_t at_ns() const noexcept { return at_ns_; }
    // A clock that was set or drifts meanwhile may cross the bounds: then the wider order counts.
    [[nodiscard]] std::int64_t low_ns() const noexcept { return std::min(low_ns_, high_ns_); }
    [[nodiscard]] std::int64_t high_ns() const noexcept { return std::max(low_ns_, high_ns_); }
    [[nodiscard]] std::int64_t middle_ns() const noexcept {
        return low_ns() + (high_ns() - low_ns()) / 2;
    }
    [[nodiscard]] std::int64_t width_ns() const noexcept { return high_ns() - low_ns(); }
    // Of the fastest exchange, without the time at the answering end.
    [[nodiscard]] std::int64_t round_trip_ns() const noexcept { return round_trip_ns_; }
    [[nodiscard]] int exchanges() const noexcept { return exchanges_; }

private:
    std::int64_t low_ns_ = std::numeric_limits<std::int64_t>::min();
    std::int64_t high_ns_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t at_ns_ = 0;
    std::int64_t round_trip_ns_ = std::numeric_limits<std::int64_t>::max();
    int exchanges_ = 0;
};

// A lead that changes at a constant rate: lead_ns at at_ns of the leading clock.
struct LeadLine {
    std::int64_t at_ns = 0;
    std::int64_t lead_ns = 0;
    double drift = 0.0; // ns of lead per ns of the leading clock
    std::int64_t uncertainty_ns = 0;

    [[nodiscard]] std::int64_t at(std::int64_t own_ns) const noexcept {
        return lead_ns + static_cast<std::int64_t>(drift * static_cast<double>(own_ns - at_ns));
    }
    // What the leading clock shows when the other shows other_ns.
    [[nodiscard]] std::int64_t own_ns(std::int64_t other_ns) const noexcept {
        // The lead at an instant that is off by the drift of the lead itself: twice is exact to
        // drift squared.
        const std::int64_t near_ns = other_ns + lead_ns;
        return other_ns + at(other_ns + at(near_ns));
    }
};

// The lead between two comparisons: a straight line through both, or the first one's alone.
struct LeadSpan {
    LeadLine first;
    LeadLine last;
    bool changes = true;

    [[nodiscard]] double at(std::int64_t own_ns) const noexcept {
        const std::int64_t span_ns = last.at_ns - first.at_ns;
        if (!changes || span_ns <= 0) {
            return static_cast<double>(first.lead_ns);
        }
        const double drift =
            static_cast<double>(last.lead_ns - first.lead_ns) / static_cast<double>(span_ns);
        return static_cast<double>(first.lead_ns) +
               drift * static_cast<double>(own_ns - first.at_ns);
    }
    [[nodiscard]] std::int64_t uncertainty_ns() const noexcept {
        return std::max(first.uncertainty_ns, last.uncertainty_ns);
    }
};

} // namespace sonde
