// How long windows are, how many are agreed on together, and how long beforehand.
#pragma once

#include <cstdint>

#include "collective/start_by.hpp"

namespace sonde::collective {

// Of the windows that were agreed on together: how many had a late rank, and whether the first had.
struct Missed {
    int late = 0;
    bool first = false;
};

// A rank that is still busy when its window begins is late, and that repetition tells nothing. So
// windows grow where ranks were late, and shrink where none was, but not at once to what was too
// short. Where ranks lack CPUs no length would do: whoever loses its CPU misses all
// windows until the next agreement, so fewer are agreed on together, down to one; and more again,
// one by one, where none was late. A first window that was missed was agreed on too shortly before.
class WindowPlan {
public:
    WindowPlan() = default;
    WindowPlan(std::int64_t longest_call_ns, std::int64_t longest_barrier_ns,
               const WindowBounds& bounds) noexcept;

    // After all windows that were agreed on together.
    void adapt(const Missed& missed) noexcept;

    [[nodiscard]] std::int64_t ns() const noexcept { return ns_; }
    [[nodiscard]] std::int64_t slack_ns() const noexcept { return slack_ns_; }
    [[nodiscard]] int at_once() const noexcept { return at_once_; }

private:
    std::int64_t ns_ = 0;
    std::int64_t most_ns_ = 0;
    std::int64_t too_short_ns_ = 0; // at which ranks were late
    std::int64_t least_slack_ns_ = 0;
    std::int64_t slack_ns_ = 0;
    std::int64_t most_slack_ns_ = 0;
    int at_once_ = 1;
    int most_at_once_ = 1;
    bool has_missed_ = false;
};

} // namespace sonde::collective
