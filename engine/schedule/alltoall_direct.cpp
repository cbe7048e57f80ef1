#include "schedule/alltoall_direct.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/alltoall.hpp"

namespace sonde::schedule {

namespace {

// One rank's place in a direct exchange: a round, a pass over its partners, a partner, and whether
// the packet of this partner has been received already and is now sent.
class DirectSteps final : public Steps {
public:
    DirectSteps(const DirectSchedule& schedule, Rank rank) : schedule_(&schedule), rank_(rank) {
        begin_round(0);
    }

    bool next(Step& step) override {
        while (round_ < schedule_->rounds()) {
            const bool found = sending_ ? send(step) : receive(step);
            written_ += found ? 1 : 0;
            move_on();
            if (found) {
                return true;
            }
        }
        return false;
    }

private:
    // Where packets of unequal blocks are mixed, the steps that still have some are kept: one huge
    // block would make all passes go over all partners otherwise.
    [[nodiscard]] bool keeps_left() const {
        return schedule_->mixed() && !schedule_->equal_blocks();
    }

    void begin_round(Rank round) {
        round_ = round;
        first_ = round * schedule_->round_steps() + 1;
        size_ = std::min(schedule_->round_steps(), schedule_->partners().steps() - first_ + 1);
        round_begins_ = written_;
        at_ = 0;
        pass_ = 0;
        if (keeps_left()) {
            left_.clear();
            for (Rank step = first_; step < first_ + size_; ++step) {
                left_.push_back(step);
            }
            drop_finished();
        }
    }

    void drop_finished() {
        std::erase_if(left_, [&](Rank step) { return schedule_->packets(rank_, step) <= pass_; });
    }

    [[nodiscard]] Rank count() const {
        return keeps_left() ? static_cast<Rank>(left_.size()) : size_;
    }

    [[nodiscard]] Rank here() const {
        return keeps_left() ? left_[static_cast<std::size_t>(at_)] : first_ + at_;
    }

    void move_on() {
        sending_ = !sending_;
        if (sending_) {
            return;
        }
        if (schedule_->mixed()) {
            next_partner_then_packet();
        } else {
            next_packet_then_partner();
        }
    }

    void next_partner_then_packet() {
        if (++at_ < count()) {
            return;
        }
        at_ = 0;
        ++pass_;
        if (keeps_left()) {
            drop_finished();
        }
        if (count() == 0 || pass_ == schedule_->most_packets()) {
            begin_round(round_ + 1);
        }
    }

    void next_packet_then_partner() {
        if (++pass_ < schedule_->packets(rank_, here())) {
            return;
        }
        pass_ = 0;
        if (++at_ == size_) {
            begin_round(round_ + 1);
        }
    }

    bool send(Step& step) const {
        if (count() == 0) {
            return false;
        }
        const auto target = schedule_->partners().target(rank_, here());
        return target && write(step, Action::send, *target, rank_, *target, here());
    }

    bool receive(Step& step) const {
        if (count() == 0) {
            return false;
        }
        const auto source = schedule_->partners().source(rank_, here());
        return source && write(step, Action::receive, *source, *source, rank_,
                               schedule_->partners().sent_at(*source, rank_, here()));
    }

    bool write(Step& step, Action action, Rank peer, Rank origin, Rank block, Rank sent_at) const {
        const Layout& layout = schedule_->layout();
        if (pass_ >= layout.segments(origin, block)) {
            return false;
        }
        step = Step{};
        step.action = action;
        step.peer = peer;
        step.round = round_;
        step.slot = slot(sent_at);
        step.after = round_begins_;
        step.bytes = layout.bytes(origin, block, pass_);
        step.data = {.origin = origin, .block = block, .segment = pass_};
        step.data.segments = schedule_->divided() ? 1 : whole;
        return true;
    }

    // Slots of a round follow those of the rounds before, as if all blocks were as large as the
    // largest.
    [[nodiscard]] std::int64_t slot(Rank step) const {
        const std::int64_t packets = schedule_->most_packets();
        const std::int64_t place = step - first_;
        return (first_ - 1) * packets +
               (schedule_->mixed() ? std::int64_t{pass_} * size_ + place : place * packets + pass_);
    }

    const DirectSchedule* schedule_;
    Rank rank_;
    Rank round_ = 0;
    Rank first_ = 1; // step of the round
    Rank size_ = 0;  // steps of the round
    Rank at_ = 0;    // step in the round
    std::int32_t pass_ = 0;
    bool sending_ = false;
    std::int64_t written_ = 0;
    std::int64_t round_begins_ = 0;
    std::vector<Rank> left_;
};

bool power_of_two(Rank number) noexcept { return (number & (number - 1)) == 0; }

std::int32_t largest_block(const Parameters& parameters, const Layout& layout) {
    if (parameters.ranks < 2) {
        return 0;
    }
    if (parameters.sizes.empty()) {
        return layout.segments(0, 1);
    }
    std::int32_t most = 0;
    for (Rank from = 0; from < parameters.ranks; ++from) {
        for (Rank to = 0; to < parameters.ranks; ++to) {
            most = from == to ? most : std::max(most, layout.segments(from, to));
        }
    }
    return most;
}

Rank steps_of_round(const Parameters& parameters, const DirectPlan& plan, Rank steps) {
    // No rank has more than p - 1 partners: so many at once are all, idle steps and all.
    if (plan.fan_out == 0 || plan.fan_out >= parameters.ranks - 1) {
        return std::max(steps, 1);
    }
    return plan.fan_out;
}

} // namespace

Partners::Partners(const Parameters& parameters, const DirectPlan& plan)
    : ranks_(parameters.ranks), permutation_(plan.permutation),
      steps_(plan.permutation ? permutation_steps(*plan.permutation, parameters.ranks)
                              : parameters.ranks - 1) {
    if (parameters.remap) {
        remapped_.emplace(parameters.hierarchy);
    }
}

std::optional<Rank> Partners::target(Rank rank, Rank step) const noexcept {
    if (!permutation_) {
        return step <= rank ? step - 1 : step;
    }
    if (remapped_) {
        return target_at({*permutation_, true}, *remapped_, rank, step);
    }
    return target_at(*permutation_, ranks_, rank, step);
}

std::optional<Rank> Partners::source(Rank rank, Rank step) const noexcept {
    if (!permutation_) {
        return step <= rank ? step - 1 : step;
    }
    if (remapped_) {
        return source_at({*permutation_, true}, *remapped_, rank, step);
    }
    return source_at(*permutation_, ranks_, rank, step);
}

Rank Partners::sent_at(Rank source, Rank rank, Rank step) const noexcept {
    if (permutation_) {
        return step;
    }
    return rank < source ? rank + 1 : rank;
}

DirectSchedule::DirectSchedule(const Parameters& parameters, const DirectPlan& plan)
    : parameters_(parameters), plan_(plan), layout_(exchange_layout(parameters)),
      partners_(parameters, plan),
      round_steps_(steps_of_round(parameters, plan, partners_.steps())),
      most_packets_(largest_block(parameters, layout_)) {}

std::unique_ptr<Steps> DirectSchedule::steps(Rank rank) const {
    return std::make_unique<DirectSteps>(*this, rank);
}

Rank DirectSchedule::rounds() const noexcept {
    if (most_packets_ == 0) {
        return 0;
    }
    return (partners_.steps() + round_steps_ - 1) / round_steps_;
}

std::int32_t DirectSchedule::packets(Rank rank, Rank step) const {
    const auto target = partners_.target(rank, step);
    const auto source = partners_.source(rank, step);
    return std::max(target ? layout_.segments(rank, *target) : 0,
                    source ? layout_.segments(*source, rank) : 0);
}

bool DirectSchedule::any_block_empty() const {
    if (equal_blocks()) {
        return most_packets_ == 0;
    }
    for (Rank from = 0; from < parameters_.ranks; ++from) {
        for (Rank to = 0; to < parameters_.ranks; ++to) {
            if (from != to && layout_.segments(from, to) == 0) {
                return true;
            }
        }
    }
    return false;
}

// Times that a rank waits for a round to end: of a rank's rounds with partners, all but one.
std::optional<std::int64_t> DirectSchedule::most_stalls() const {
    if (rounds() <= 1) {
        return 0;
    }
    if (round_steps_ == 1) {
        return parameters_.ranks - 2; // each rank has p - 1 partners, one a round
    }
    if (plan_.permutation == Permutation::exclusive_or && !power_of_two(parameters_.ranks)) {
        return std::nullopt; // it depends on where a rank's idle steps fall
    }
    return rounds() - 1;
}

bool DirectSchedule::contention_free_switches() const {
    if (parameters_.hierarchy.empty()) {
        return false;
    }
    if (plan_.permutation == Permutation::exclusive_or) {
        return power_of_two(parameters_.ranks);
    }
    return plan_.permutation == Permutation::shift && parameters_.remap;
}

// With contention-aware ids consecutive steps go to different leaf switches. The packets of a round
// are sent in several passes over its steps: the last step and the first follow each other, too.
bool DirectSchedule::changing_switches() const {
    if (!parameters_.remap || !contention_free_switches()) {
        return false;
    }
    const Rank leaves = parameters_.ranks / parameters_.hierarchy.front();
    if (leaves < 2) {
        return false;
    }
    if (most_packets_ <= 1) {
        return true;
    }
    const Rank last_round = partners_.steps() - (rounds() - 1) * round_steps_;
    return plan_.mixed && (last_round - 1) % leaves != 0 &&
           (rounds() == 1 || (round_steps_ - 1) % leaves != 0);
}

void DirectSchedule::claim_volume(Claims& claims) const {
    if (equal_blocks()) {
        const std::int64_t others = parameters_.ranks - 1;
        claims.messages = others * most_packets_;
        claims.bytes = others * parameters_.block_bytes;
        return;
    }
    claims.messages = 0;
    claims.bytes = 0;
    for (Rank from = 0; from < parameters_.ranks; ++from) {
        std::int64_t messages = 0;
        std::int64_t bytes = 0;
        for (Rank to = 0; to < parameters_.ranks; ++to) {
            messages += from == to ? 0 : layout_.segments(from, to);
            bytes += from == to ? 0 : layout_.bytes(from, to);
        }
        claims.messages = std::max(*claims.messages, messages);
        claims.bytes = std::max(*claims.bytes, bytes);
    }
}

Claims DirectSchedule::claims() const {
    Claims claims;
    claims.node_contention_free = plan_.permutation.has_value();
    claims.switch_contention_free = contention_free_switches();
    claims.switch_changes = changing_switches();
    claim_volume(claims);
    if (most_packets_ == 0) { // nobody sends
        claims.rounds = 0;
        claims.stalls = 0;
        claims.fan_out = 0;
    } else if (!any_block_empty()) { // otherwise it depends on which blocks are
        claims.rounds = rounds();
        claims.stalls = most_stalls();
        claims.fan_out = std::min(round_steps_, parameters_.ranks - 1);
    }
    return claims;
}

} // namespace sonde::schedule
