#include "collective/window_plan.hpp"

#include <algorithm>

namespace sonde::collective {
namespace {

// A window leaves the ranks this much time besides the longest call, for the way into the wait.
constexpr std::int64_t least_window_ns = 5'000;
constexpr std::int64_t most_window_ns = 10'000'000'000;
constexpr int tolerated = 16;    // one window of so many may be missed
constexpr int first_at_once = 4; // doubled until one is missed

// Bounds that are set are small enough that nothing overflows; what was measured may be anything.
std::int64_t grown(std::int64_t ns, int times) { return std::min(ns * times, most_window_ns); }

} // namespace

WindowPlan::WindowPlan(std::int64_t longest_call_ns, std::int64_t longest_barrier_ns,
                       const WindowBounds& bounds) noexcept
    : ns_(std::clamp(2 * longest_call_ns, least_window_ns, most_window_ns)),
      most_ns_(grown(ns_, bounds.growth)),
      // Ranks learn of the first window by a broadcast; it must have reached all of them.
      least_slack_ns_(std::max(bounds.slack_ns, std::min(4 * longest_barrier_ns, most_window_ns))),
      slack_ns_(least_slack_ns_), most_slack_ns_(grown(least_slack_ns_, bounds.growth)),
      at_once_(std::min(first_at_once, bounds.at_once)), most_at_once_(bounds.at_once) {}

void WindowPlan::adapt(const Missed& missed) noexcept {
    if (missed.first) {
        slack_ns_ = std::min(2 * slack_ns_, most_slack_ns_);
    } else if (missed.late == 0) {
        slack_ns_ = std::max(slack_ns_ - slack_ns_ / 8, least_slack_ns_);
    }
    if (missed.late * tolerated > at_once_) {
        has_missed_ = true;
        too_short_ns_ = ns_;
        ns_ = std::min(2 * ns_, most_ns_);
        at_once_ = std::max(at_once_ / 2, 1);
    } else if (missed.late == 0) {
        const std::int64_t shorter_ns = std::max(ns_ - ns_ / 8, least_window_ns);
        if (shorter_ns > too_short_ns_ + too_short_ns_ / 4) {
            ns_ = std::min(ns_, shorter_ns);
        } else { // tried again after a while: it may have been something else that made ranks late
            too_short_ns_ -= too_short_ns_ / 512 + 1;
        }
        at_once_ = std::min(has_missed_ ? at_once_ + 1 : 2 * at_once_, most_at_once_);
    }
}

} // namespace sonde::collective
