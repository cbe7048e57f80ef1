#include "schedule/check.hpp"

#include <algorithm>

#include "schedule/holdings.hpp"
#include "schedule/player.hpp"

namespace sonde::schedule {

namespace {

class Witness final : public Watcher {
public:
    Witness(const Schedule& schedule, Family family, Problems& problems)
        : schedule_(&schedule), problems_(&problems),
          holdings_(make_holdings(schedule, family, problems)),
          traffic_(schedule.parameters().ranks) {}

    void message_started(Rank rank, const PlayedStep& step) override {
        if (step.step.action == Action::send) {
            check_bytes(rank, step);
        }
        traffic_.started(rank, step);
        holdings_->message_started(rank, step);
    }
    void message_complete(Rank from, const PlayedStep& send, Rank to,
                          const PlayedStep& receive) override {
        const bool same = send.step.data == receive.step.data && send.more == receive.more &&
                          send.step.bytes == receive.step.bytes;
        if (!same) {
            problems_->add("rank " + std::to_string(from) + " sends " + describe(send.step.data) +
                           " and rank " + std::to_string(to) + " expects " +
                           describe(receive.step.data));
        }
        if (send.step.slot != receive.step.slot) {
            problems_->add("rank " + std::to_string(from) + " sends in slot " +
                           std::to_string(send.step.slot) + " what rank " + std::to_string(to) +
                           " receives in slot " + std::to_string(receive.step.slot));
        }
        holdings_->message_complete(from, send, to, receive);
    }
    void local(Rank rank, const PlayedStep& step) override { holdings_->local(rank, step); }

    [[nodiscard]] Holdings& holdings() { return *holdings_; }
    [[nodiscard]] Traffic& traffic() { return traffic_; }

private:
    void check_bytes(Rank rank, const PlayedStep& step) {
        std::int64_t bytes = 0;
        bool empty = true;
        const Rank ranks = schedule_->parameters().ranks;
        each_range(step, [&](const Range& range) {
            bytes += schedule_->layout().bytes(range, ranks);
            empty = empty && schedule_->layout().empty(range, ranks);
        });
        if (bytes != step.step.bytes || empty) {
            problems_->add("rank " + std::to_string(rank) + " sends " +
                           std::to_string(step.step.bytes) + " bytes in step " +
                           std::to_string(step.number) + ", its data are " + std::to_string(bytes));
        }
    }

    const Schedule* schedule_;
    Problems* problems_;
    std::unique_ptr<Holdings> holdings_;
    Traffic traffic_;
};

// A claimed count is exact; where blocks are empty, what is not sent is not counted.
void compare(std::string_view what, std::optional<std::int64_t> claimed, std::int64_t counted,
             bool full, Problems& problems) {
    if (claimed && (full ? counted != *claimed : counted > *claimed)) {
        problems.add(std::string(what) + ": " + std::to_string(*claimed) + " claimed, " +
                     std::to_string(counted) + " counted");
    }
}

bool no_block_is_empty(const Layout& layout, const Parameters& parameters) {
    const Rank origins = parameters.sizes.empty() ? 1 : parameters.ranks;
    for (Rank origin = 0; origin < origins; ++origin) {
        for (std::int32_t block = 0; block < layout.blocks(); ++block) {
            if (layout.segments(origin, block) == 0) {
                return false;
            }
        }
    }
    return true;
}

void compare_counts(const Schedule& schedule, const TrafficCounts& counts, Problems& problems) {
    const Claims claims = schedule.claims();
    const bool full = no_block_is_empty(schedule.layout(), schedule.parameters());
    compare("rounds", claims.rounds, counts.rounds, full, problems);
    compare("stalls", claims.stalls, counts.stalls, full, problems);
    compare("fan-out", claims.fan_out, counts.fan_out, full, problems);
    compare("messages of the busiest rank", claims.messages, counts.busiest_messages, full,
            problems);
    compare("bytes of the busiest rank", claims.bytes, counts.busiest_bytes, full, problems);
    if (claims.node_contention_free && (counts.most_to_rank > 1 || counts.most_from_rank > 1)) {
        problems.add("claimed free of contention at nodes, yet in one slot " +
                     std::to_string(counts.most_to_rank) + " messages go to a rank and " +
                     std::to_string(counts.most_from_rank) + " come from one");
    }
}

void compare_switches(const Schedule& schedule, Traffic& traffic, Problems& problems) {
    const Claims claims = schedule.claims();
    const auto& hierarchy = schedule.parameters().hierarchy;
    if (!claims.switch_contention_free && !claims.switch_changes) {
        return;
    }
    if (hierarchy.empty()) {
        problems.add("claims about switches are made without a hierarchy");
        return;
    }
    const SwitchFindings found = traffic.across_switches(hierarchy.front());
    if (claims.switch_contention_free && !found.collision.empty()) {
        problems.add("claimed free of contention at switches, yet " + found.collision);
    }
    if (claims.switch_changes && !found.repetition.empty()) {
        problems.add("claimed to change the switch from slot to slot, yet " + found.repetition);
    }
}

} // namespace

Findings examine(const Schedule& schedule, Family family) {
    Problems problems;
    Witness witness(schedule, family, problems);
    Player(schedule, witness, problems).play();
    witness.holdings().finish();
    Findings findings;
    findings.counts = witness.traffic().counts();
    findings.rank_order = is_reduction(family) && witness.holdings().rank_order();
    compare_counts(schedule, findings.counts, problems);
    compare_switches(schedule, witness.traffic(), problems);
    if (schedule.claims().rank_order && !findings.rank_order) {
        problems.add("claimed to combine in the order of the ranks, yet it does not");
    }
    findings.problem_count = problems.count();
    findings.problems = problems.sentences();
    return findings;
}

} // namespace sonde::schedule
