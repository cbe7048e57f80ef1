#include "schedule/traffic.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace sonde::schedule {

void Traffic::close_round(RankTraffic& rank) {
    std::ranges::sort(rank.partners);
    // Not std::ranges::unique: what it returns, Clang 14 cannot compile with GCC's library.
    rank.partners.erase(std::unique(rank.partners.begin(), rank.partners.end()),
                        rank.partners.end());
    rank.fan_out = std::max(rank.fan_out, static_cast<Rank>(rank.partners.size()));
    rank.partners.clear();
}

void Traffic::started(Rank rank, const PlayedStep& played) {
    const Step& step = played.step;
    RankTraffic& state = ranks_[static_cast<std::size_t>(rank)];
    // Sends and receives of one round may start in either order, rounds do not.
    if (step.round > state.round) {
        state.last_number = state.number;
        state.stalls += state.last_number >= 0 && step.after > state.last_number ? 1 : 0;
        close_round(state);
        state.round = step.round;
        rounds_.push_back(step.round);
    }
    state.number = std::max(state.number, played.number);
    if (step.action == Action::send) {
        ++state.messages;
        state.bytes += step.bytes;
        state.partners.push_back(step.peer);
        messages_.push_back({.slot = step.slot, .from = rank, .to = step.peer});
    }
}

TrafficCounts Traffic::counts() {
    TrafficCounts counts;
    for (RankTraffic& rank : ranks_) {
        close_round(rank);
        counts.messages += rank.messages;
        counts.bytes += rank.bytes;
        counts.stalls = std::max(counts.stalls, rank.stalls);
        counts.fan_out = std::max(counts.fan_out, rank.fan_out);
        counts.busiest_messages = std::max(counts.busiest_messages, rank.messages);
        counts.busiest_bytes = std::max(counts.busiest_bytes, rank.bytes);
    }
    std::ranges::sort(rounds_);
    counts.rounds = std::distance(rounds_.begin(), std::unique(rounds_.begin(), rounds_.end()));
    sort_by_slot();
    std::vector<std::int64_t> to(ranks_.size());
    std::vector<std::int64_t> from(ranks_.size());
    for (auto slot = messages_.begin(); slot != messages_.end(); ++counts.slots) {
        const auto end = std::find_if(slot, messages_.end(), [&](const Message& message) {
            return message.slot != slot->slot;
        });
        for (auto message = slot; message != end; ++message) {
            counts.most_to_rank =
                std::max(counts.most_to_rank, ++to[static_cast<std::size_t>(message->to)]);
            counts.most_from_rank =
                std::max(counts.most_from_rank, ++from[static_cast<std::size_t>(message->from)]);
        }
        for (; slot != end; ++slot) {
            to[static_cast<std::size_t>(slot->to)] = 0;
            from[static_cast<std::size_t>(slot->from)] = 0;
        }
    }
    return counts;
}

void Traffic::sort_by_slot() { std::ranges::sort(messages_, {}, &Message::slot); }

SwitchFindings Traffic::across_switches(Rank hosts_of_leaf) {
    SwitchFindings findings;
    sort_by_slot();
    std::map<Rank, Rank> target; // of each leaf switch in this slot
    std::map<Rank, Rank> source;
    struct Last {
        std::int64_t slot = -2;
        Rank leaf = -1;
    };
    std::unordered_map<Rank, Last> across; // each rank's last message to another switch
    std::int64_t slot = -1;
    for (const Message& message : messages_) {
        if (message.slot != slot) {
            slot = message.slot;
            target.clear();
            source.clear();
        }
        const Rank from = message.from / hosts_of_leaf;
        const Rank to = message.to / hosts_of_leaf;
        const bool agrees = target.emplace(from, to).first->second == to &&
                            source.emplace(to, from).first->second == from;
        if (!agrees && findings.collision.empty()) {
            findings.collision = "in slot " + std::to_string(slot) + " switch " +
                                 std::to_string(from) + " sends to switch " + std::to_string(to) +
                                 ", and not it alone or not to it alone";
        }
        if (from == to) {
            continue;
        }
        Last& last = across[message.from];
        if (last.leaf == to && last.slot + 1 == slot && findings.repetition.empty()) {
            findings.repetition = "rank " + std::to_string(message.from) + " sends to switch " +
                                  std::to_string(to) + " in slots " + std::to_string(slot - 1) +
                                  " and " + std::to_string(slot);
        }
        last = {.slot = slot, .leaf = to};
    }
    return findings;
}

} // namespace sonde::schedule
