// One rank's way through its steps: which may begin, which are under way, which are complete. Who
// carries messages (MPI, frames, a network in virtual time) begins what it is given and says when
// it is complete; nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sonde::schedule {

// `Source` gives the steps in their order: a type Step with a number `after`, and next(Step&),
// false at the end.
template <class Source>
class StepRunner {
public:
    using Step = typename Source::Step;

    StepRunner() = default;
    explicit StepRunner(Source source) { restart(std::move(source)); }

    // From the first step on; memory that was needed once is kept.
    void restart(Source source) {
        source_ = std::move(source);
        has_pending_ = at_end_ = advancing_ = false;
        begun_ = low_ = 0;
    }

    // Begins all steps that may begin: carrier.may_begin(step) says whether there is room for it,
    // carrier.begin(number, step) starts it and may call completed() at once.
    template <class Carrier>
    void advance(Carrier&& carrier) {
        if (advancing_) {
            return; // begin() led here; the loop below goes on
        }
        advancing_ = true;
        while (look_ahead() && pending_.after <= low_ && carrier.may_begin(pending_)) {
            has_pending_ = false;
            const Step step = pending_;
            carrier.begin(add(), step);
        }
        advancing_ = false;
    }

    void completed(std::int64_t number) {
        const std::size_t ring = complete_.size() - 1;
        complete_[static_cast<std::size_t>(number) & ring] = true;
        while (low_ < begun_ && complete_[static_cast<std::size_t>(low_) & ring]) {
            ++low_;
        }
    }

    [[nodiscard]] bool is_done() const noexcept { return at_end_ && low_ == begun_; }
    // After advance(): whether nothing more begins before all that is under way is complete.
    [[nodiscard]] bool needs_all() const noexcept { return at_end_ || pending_.after == begun_; }

private:
    static constexpr std::size_t least_ring = 16;

    [[nodiscard]] bool look_ahead() {
        if (!has_pending_ && !at_end_) {
            has_pending_ = source_.next(pending_);
            at_end_ = !has_pending_;
        }
        return has_pending_;
    }

    // The number of a step that is now under way.
    [[nodiscard]] std::int64_t add() {
        if (static_cast<std::size_t>(begun_ + 1 - low_) > complete_.size()) {
            grow();
        }
        complete_[static_cast<std::size_t>(begun_) & (complete_.size() - 1)] = false;
        return begun_++;
    }

    void grow() {
        std::vector<bool> more(complete_.empty() ? least_ring : 2 * complete_.size());
        for (std::int64_t at = low_; at < begun_; ++at) {
            const auto place = static_cast<std::size_t>(at);
            more[place & (more.size() - 1)] = complete_[place & (complete_.size() - 1)];
        }
        complete_ = std::move(more);
    }

    Source source_;
    Step pending_; // not yet begun
    bool has_pending_ = false;
    bool at_end_ = false;
    bool advancing_ = false;
    std::int64_t begun_ = 0;
    std::int64_t low_ = 0;       // all steps before it are complete
    std::vector<bool> complete_; // of steps from low_ on, in a ring of a power of two
};

} // namespace sonde::schedule
