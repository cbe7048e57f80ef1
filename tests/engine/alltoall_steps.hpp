// What the tests of complete exchanges share: making them, keeping their steps, counting their
// cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace alltoall_steps {

using namespace sonde::schedule;

constexpr std::int64_t packet_bytes = 100;

inline std::unique_ptr<Schedule> make(std::string_view name, const Parameters& parameters) {
    return make_schedule(std::string("alltoall/").append(name), parameters);
}

// A block of so many packets, the last one not full.
inline Parameters exchange(Rank ranks, std::int64_t packets) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.block_bytes = packets == 0 ? 0 : packets * packet_bytes - 1;
    parameters.segment_bytes = packet_bytes;
    return parameters;
}

// Steps with their data, kept beyond the generator's.
struct Kept {
    Step step;
    std::vector<Range> data;
};

inline std::vector<Kept> steps_of(const Schedule& schedule, Rank rank) {
    std::vector<Kept> all;
    const auto steps = schedule.steps(rank);
    Step step;
    while (steps->next(step)) {
        std::vector<Range> data{step.data};
        data.insert(data.end(), step.more.begin(), step.more.end());
        all.push_back({step, std::move(data)});
    }
    return all;
}

struct Cost {
    std::int64_t rounds = 0;
    std::int64_t stalls = 0;
    Rank fan_out = 0;
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
};

inline Cost cost_of_rank(const Schedule& schedule, Rank rank, std::set<std::int32_t>& rounds) {
    Cost cost;
    std::map<std::int32_t, std::set<Rank>> partners;
    for (const Kept& kept : steps_of(schedule, rank)) {
        if (kept.step.action == Action::copy) {
            continue;
        }
        auto& of_round = partners[kept.step.round];
        if (kept.step.action == Action::send) {
            rounds.insert(kept.step.round);
            of_round.insert(kept.step.peer);
            ++cost.messages;
            cost.bytes += kept.step.bytes;
        }
    }
    cost.stalls = std::max<std::int64_t>(static_cast<std::int64_t>(partners.size()) - 1, 0);
    for (const auto& [round, of_round] : partners) {
        cost.fan_out = std::max(cost.fan_out, static_cast<Rank>(of_round.size()));
    }
    return cost;
}

inline Cost cost_of(const Schedule& schedule) {
    Cost most;
    std::set<std::int32_t> rounds;
    for (Rank rank = 0; rank < schedule.parameters().ranks; ++rank) {
        const Cost cost = cost_of_rank(schedule, rank, rounds);
        most.stalls = std::max(most.stalls, cost.stalls);
        most.fan_out = std::max(most.fan_out, cost.fan_out);
        most.messages = std::max(most.messages, cost.messages);
        most.bytes = std::max(most.bytes, cost.bytes);
    }
    most.rounds = static_cast<std::int64_t>(rounds.size());
    return most;
}

// Sizes of all pairs by chance, some of them nothing.
inline std::vector<std::int64_t> unequal_sizes(Rank ranks, std::mt19937& random) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks) *
                                    static_cast<std::size_t>(ranks));
    for (std::int64_t& size : sizes) {
        const auto drawn = std::uniform_int_distribution<std::int64_t>(-200, 450)(random);
        size = std::max<std::int64_t>(drawn, 0);
    }
    return sizes;
}

} // namespace alltoall_steps
