#include "schedule/phases.hpp"

#include <algorithm>

namespace sonde::schedule {

namespace {

class PhasedSteps : public Steps {
public:
    PhasedSteps(const PhasedSchedule& schedule, Rank rank)
        : schedule_(&schedule), rank_(rank), phases_(schedule.phases(rank)),
          script_(schedule.layout(), schedule.parameters().ranks) {}

    bool next(Step& step) override {
        while (!script_.take(step)) {
            if (phase_ == phases_) {
                return false;
            }
            script_.clear();
            schedule_->phase(rank_, phase_++, script_);
        }
        return true;
    }

private:
    const PhasedSchedule* schedule_;
    Rank rank_;
    std::int64_t phase_ = 0;
    std::int64_t phases_;
    Script script_;
};

} // namespace

std::unique_ptr<Steps> PhasedSchedule::steps(Rank rank) const {
    return std::make_unique<PhasedSteps>(*this, rank);
}

Step Script::step_of(Action action, Rank peer, const Range& data) const {
    Step step;
    step.action = action;
    step.peer = peer;
    step.round = round_;
    step.slot = slot_;
    step.after = after_;
    step.bytes = layout_->bytes(data, ranks_);
    step.data = data;
    return step;
}

void Script::write(const Step& step) {
    steps_.push_back(step);
    ++written_;
}

void Script::message(Action action, Place place, Rank peer, const Range& data) {
    if (layout_->empty(data, ranks_)) {
        return;
    }
    Step step = step_of(action, peer, data);
    step.place = place;
    write(step);
}

void Script::message(Action action, Rank peer, std::span<const Range> data) {
    auto parts = std::make_unique<std::vector<Range>>();
    std::ranges::copy_if(data, std::back_inserter(*parts),
                         [&](const Range& range) { return !layout_->empty(range, ranks_); });
    if (parts->empty()) {
        return;
    }
    Step step = step_of(action, peer, parts->front());
    step.more = std::span<const Range>(*parts).subspan(1);
    for (const Range& range : step.more) {
        step.bytes += layout_->bytes(range, ranks_);
    }
    write(step);
    more_.push_back(std::move(parts));
}

void Script::send(Rank peer, std::span<const Range> data) { message(Action::send, peer, data); }

void Script::receive(Rank peer, std::span<const Range> data) {
    message(Action::receive, peer, data);
}

void Script::combine(Rank peer, const Range& data, Left left) {
    if (layout_->empty(data, ranks_)) {
        return;
    }
    wait();
    Step step = step_of(Action::combine, peer, data);
    step.left = left;
    write(step);
    wait();
}

void Script::copy(const Range& data) { copy(std::span<const Range>(&data, 1)); }

void Script::copy(std::span<const Range> data) {
    wait();
    message(Action::copy, -1, data);
    wait();
}

bool Script::take(Step& step) {
    if (taken_ == steps_.size()) {
        return false;
    }
    step = steps_[taken_++];
    return true;
}

void Script::clear() {
    steps_.clear();
    more_.clear();
    taken_ = 0;
}

} // namespace sonde::schedule
