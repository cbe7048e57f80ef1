// Complete exchanges over switches in a tree: targets by slot, and the window that goes with them.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/failure.hpp"
#include "schedule/alltoall.hpp"
#include "schedule/alltoall_hierarchy.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("alltoall_switches");

namespace {

std::unique_ptr<Schedule> make(std::string_view name, const Parameters& parameters) {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        if (algorithm.name == std::string("alltoall/").append(name)) {
            check(algorithm, parameters);
            return algorithm.make(parameters);
        }
    }
    throw sonde::Failure("bad_request", "no such algorithm");
}

Parameters over(const std::vector<Rank>& degrees, std::int64_t packets) {
    Parameters parameters;
    parameters.hierarchy = degrees;
    parameters.ranks = Hierarchy(degrees).ranks();
    parameters.block_bytes = packets * 100;
    parameters.segment_bytes = 100;
    return parameters;
}

struct Seen {
    bool permutation = true; // in each slot, switches send to different switches
    bool changes = true;     // no rank sends across to one switch in two slots in a row
};

struct Sent {
    Rank from = 0; // switches
    Rank to = 0;
};

bool permutes(const std::vector<Sent>& slot) {
    std::map<Rank, Rank> target;
    std::map<Rank, Rank> source;
    for (const Sent& sent : slot) {
        if (target.emplace(sent.from, sent.to).first->second != sent.to ||
            source.emplace(sent.to, sent.from).first->second != sent.from) {
            return false;
        }
    }
    return true;
}

Seen look(const Schedule& schedule, std::size_t level) {
    const Hierarchy hierarchy(schedule.parameters().hierarchy);
    Seen seen;
    std::map<std::int64_t, std::vector<Sent>> slots;
    for (Rank rank = 0; rank < hierarchy.ranks(); ++rank) {
        std::map<std::int64_t, Rank> across;
        const Rank own = hierarchy.switch_of(rank, level);
        const auto steps = schedule.steps(rank);
        Step step;
        while (steps->next(step)) {
            if (step.action == Action::send) {
                const Rank target = hierarchy.switch_of(step.peer, level);
                slots[step.slot].push_back({own, target});
                across[step.slot] = target;
            }
        }
        for (const auto& [slot, target] : across) {
            const auto next = across.find(slot + 1);
            if (next != across.end() && target != own && next->second == target) {
                seen.changes = false;
            }
        }
    }
    for (const auto& [slot, sent] : slots) {
        seen.permutation = seen.permutation && permutes(sent);
    }
    return seen;
}

const std::vector<std::vector<Rank>>& trees() {
    static const std::vector<std::vector<Rank>> all{{16, 1}, {8, 2}, {8, 3},    {6, 4},   {8, 4},
                                                    {4, 4},  {3, 5}, {4, 2, 2}, {3, 2, 3}};
    return all;
}

} // namespace

TEST_CASE("what is claimed of switches is so") {
    int claimed = 0;
    for (const auto& degrees : trees()) {
        for (const std::string name : {"shift", "pairwise", "pairwise-xor", "synchronous-shuffle",
                                       "group-shuffle", "modified-shuffle"}) {
            for (const bool remap : {false, true}) {
                for (const std::int64_t packets : {1, 3}) {
                    CAPTURE(name);
                    CAPTURE(degrees.front());
                    CAPTURE(degrees.size());
                    CAPTURE(remap);
                    CAPTURE(packets);
                    Parameters parameters = over(degrees, packets);
                    parameters.remap = remap;
                    const auto schedule = make(name, parameters);
                    const Claims claims = schedule->claims();
                    const Seen seen = look(*schedule, 1);
                    CHECK((!claims.switch_contention_free || seen.permutation));
                    CHECK((!claims.switch_changes || seen.changes));
                    claimed += claims.switch_changes ? 1 : 0;
                }
            }
        }
    }
    CHECK(claimed > 40);
}

TEST_CASE("the modified shuffle keeps its claims on the published trees and on deeper ones") {
    for (const auto& degrees :
         std::vector<std::vector<Rank>>{{8, 3}, {6, 4}, {8, 4}, {4, 4}, {3, 2, 3}}) {
        Parameters parameters = over(degrees, 3);
        parameters.remap = true;
        const auto schedule = make("modified-shuffle", parameters);
        CHECK(schedule->claims().switch_contention_free);
        CHECK(schedule->claims().switch_changes);
        for (std::size_t level = 1; level < degrees.size(); ++level) {
            CHECK(look(*schedule, level).permutation);
        }
    }
}

TEST_CASE("with two leaf switches the last and the first step of a pass go to the same one") {
    Parameters parameters = over({8, 2}, 1);
    parameters.remap = true;
    CHECK(make("modified-shuffle", parameters)->claims().switch_changes);
    CHECK(look(*make("modified-shuffle", parameters), 1).changes);
    parameters.block_bytes = 300;
    CHECK_FALSE(make("modified-shuffle", parameters)->claims().switch_changes);
    CHECK_FALSE(look(*make("modified-shuffle", parameters), 1).changes);
}

TEST_CASE("the window is a property of the schedule") {
    Parameters parameters = over({8, 4}, 2);
    parameters.remap = true;
    CHECK(make("modified-shuffle", parameters)->window() == 0);
    parameters.window = *global_window(parameters.ranks, {.hosts_below = 8, .buffer_packets = 45});
    const auto schedule = make("modified-shuffle", parameters);
    CHECK(schedule->window() == 3);
    // The steps are the same: a window is kept by whoever plays them.
    parameters.window = 0;
    const auto open = make("synchronous-shuffle", parameters);
    for (const Rank rank : {0, 13, 31}) {
        const auto some = schedule->steps(rank);
        const auto others = open->steps(rank);
        Step one;
        Step other;
        while (some->next(one)) {
            CHECK(others->next(other));
            CHECK(one.peer == other.peer);
            CHECK(one.slot == other.slot);
            CHECK(one.data == other.data);
        }
        CHECK_FALSE(others->next(other));
    }
    parameters.window = 3;
    CHECK_THROWS_AS(make("synchronous-shuffle", parameters), sonde::Failure);
}

TEST_CASE("remapped packets of a step go to the partners of the golden table") {
    Parameters parameters = over({4, 4}, 2);
    parameters.remap = true;
    const auto schedule = make("modified-shuffle", parameters);
    const std::vector<Rank> targets{4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    for (std::int32_t packet = 0; packet < 2; ++packet) {
        for (std::size_t place = 0; place < targets.size(); ++place) {
            const auto steps = schedule->steps(0);
            const auto slot = static_cast<std::int64_t>(place) + 15 * packet;
            std::optional<Rank> target;
            Step step;
            while (steps->next(step)) {
                if (step.action == Action::send && step.slot == slot) {
                    target = step.peer;
                    CHECK(step.data.segment == packet);
                }
            }
            CHECK(target == targets[place]);
        }
    }
}

TEST_SUITE_END();
