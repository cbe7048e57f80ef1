// Schedules of complete exchanges: what arrives where, in which order, at what cost, and whether
// what each algorithm claims of itself is so.
#include "schedule/alltoall.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alltoall_steps.hpp"

using namespace sonde::schedule;
using namespace alltoall_steps;

TEST_SUITE_BEGIN("alltoall_schedules");

namespace {

struct Direct {
    bool matched = true;    // each receive names what the send before it in line names
    bool in_order = true;   // a block's packets come from its origin, one after the other
    bool complete = true;   // and all of them come
    bool ordered = true;    // rounds do not fall, waits are for steps before
    bool free_nodes = true; // in a slot nobody sends or receives twice
};

class DirectReplay {
public:
    explicit DirectReplay(const Schedule& schedule)
        : schedule_(schedule), ranks_(schedule.parameters().ranks) {}

    Direct play() {
        for (Rank rank = 0; rank < ranks_; ++rank) {
            play_rank(rank);
        }
        for (Rank from = 0; from < ranks_; ++from) {
            for (Rank to = 0; to < ranks_; ++to) {
                compare(from, to);
            }
        }
        return found_;
    }

private:
    using Line = std::vector<Step>;

    void play_rank(Rank rank) {
        std::int32_t round = 0;
        std::int64_t number = 0;
        std::set<std::pair<std::int64_t, Action>> slots;
        const auto steps = schedule_.steps(rank);
        Step step;
        while (steps->next(step)) {
            found_.ordered = found_.ordered && step.round >= round && step.after <= number;
            round = step.round;
            ++number;
            found_.free_nodes = slots.emplace(step.slot, step.action).second && found_.free_nodes;
            if (step.action == Action::send) {
                sent_[{rank, step.peer}].push_back(step);
            } else {
                received_[{step.peer, rank}].push_back(step);
            }
        }
    }

    void compare(Rank from, Rank to) {
        const Line& sent = sent_[{from, to}];
        const Line& received = received_[{from, to}];
        const auto same = [](const Step& one, const Step& other) {
            return one.data == other.data && one.bytes == other.bytes && one.slot == other.slot &&
                   one.round == other.round;
        };
        found_.matched = found_.matched && std::ranges::equal(sent, received, same);
        std::int32_t segment = 0;
        std::int64_t bytes = 0;
        for (const Step& step : sent) {
            const Range one{.origin = from, .block = to, .segment = segment++, .segments = 1};
            found_.in_order = found_.in_order && step.data == one;
            bytes += step.bytes;
        }
        found_.complete =
            found_.complete && bytes == (from == to ? 0 : schedule_.layout().bytes(from, to));
    }

    const Schedule& schedule_;
    Rank ranks_;
    Direct found_;
    std::map<std::pair<Rank, Rank>, Line> sent_;
    std::map<std::pair<Rank, Rank>, Line> received_;
};

void check_direct(const Schedule& schedule) {
    const Direct found = DirectReplay(schedule).play();
    CHECK(found.matched);
    CHECK(found.in_order);
    CHECK(found.complete);
    CHECK(found.ordered);
    if (schedule.claims().node_contention_free) {
        CHECK(found.free_nodes);
    }
}

void check_claims(const Schedule& schedule) {
    const Claims claims = schedule.claims();
    const Cost cost = cost_of(schedule);
    CHECK(claims.rounds.value_or(cost.rounds) == cost.rounds);
    CHECK(claims.stalls.value_or(cost.stalls) == cost.stalls);
    CHECK(claims.fan_out.value_or(cost.fan_out) == cost.fan_out);
    CHECK(claims.messages.value_or(cost.messages) == cost.messages);
    CHECK(claims.bytes.value_or(cost.bytes) == cost.bytes);
}

const std::vector<std::string>& direct_names() {
    static const std::vector<std::string> names{
        "uncoordinated", "staggered",           "shift",         "pairwise-xor",
        "pairwise",      "synchronous-shuffle", "group-shuffle", "modified-shuffle"};
    return names;
}

// How many different targets a rank's first sends have.
std::size_t first_targets(const Schedule& schedule, std::size_t sends) {
    std::set<Rank> targets;
    std::size_t seen = 0;
    for (const Kept& kept : steps_of(schedule, 3)) {
        if (kept.step.action == Action::send && seen++ < sends) {
            targets.insert(kept.step.peer);
        }
    }
    return targets.size();
}

} // namespace

TEST_CASE("every packet of every block goes straight to its owner, once and in order") {
    for (const std::string& name : direct_names()) {
        CAPTURE(name);
        for (Rank ranks = 1; ranks <= 64; ++ranks) {
            CAPTURE(ranks);
            check_direct(*make(name, exchange(ranks, ranks % 4)));
        }
    }
}

TEST_CASE("what an algorithm claims of its cost is what it costs") {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        CAPTURE(algorithm.name);
        for (Rank ranks = 1; ranks <= 40; ++ranks) {
            CAPTURE(ranks);
            check_claims(*algorithm.make(exchange(ranks, 2)));
            check_claims(*algorithm.make(exchange(ranks, 0)));
        }
    }
}

TEST_CASE("all permutations, all fan-outs") {
    for (const auto permutation :
         {Permutation::shift, Permutation::exclusive_or, Permutation::edge_colour}) {
        for (const Rank ranks : {2, 3, 7, 8, 12, 13}) {
            CAPTURE(static_cast<int>(permutation));
            CAPTURE(ranks);
            Parameters parameters = exchange(ranks, 3);
            parameters.permutation = permutation;
            check_direct(*make("synchronous-shuffle", parameters));
            check_claims(*make("synchronous-shuffle", parameters));
            for (Rank fan_out = 1; fan_out < ranks; ++fan_out) {
                CAPTURE(fan_out);
                parameters.fan_out = fan_out;
                check_direct(*make("group-shuffle", parameters));
                check_claims(*make("group-shuffle", parameters));
            }
        }
    }
}

TEST_CASE("larger numbers of ranks, by chance") {
    std::mt19937 random(11); // NOLINT(bugprone-random-generator-seed): the same in each run
    for (int drawn = 0; drawn < 3; ++drawn) {
        const auto ranks = std::uniform_int_distribution<Rank>(65, 300)(random);
        CAPTURE(ranks);
        for (const std::string& name : direct_names()) {
            CAPTURE(name);
            check_direct(*make(name, exchange(ranks, 1)));
        }
    }
}

TEST_CASE("unequal blocks, some of them empty") {
    std::mt19937 random(5); // NOLINT(bugprone-random-generator-seed): the same in each run
    for (const Rank ranks : {1, 2, 5, 8, 13, 21}) {
        CAPTURE(ranks);
        Parameters parameters = exchange(ranks, 0);
        parameters.sizes = unequal_sizes(ranks, random);
        for (const std::string& name : direct_names()) {
            CAPTURE(name);
            check_direct(*make(name, parameters));
            check_claims(*make(name, parameters));
        }
    }
}

TEST_CASE("one huge block among small ones takes no pass over all partners for each packet") {
    Parameters parameters = exchange(256, 0);
    parameters.sizes.assign(std::size_t{256} * 256, 1);
    parameters.sizes[1] = 1'000'000 * packet_bytes; // from 0 to 1
    const auto schedule = make("synchronous-shuffle", parameters);
    const auto steps = schedule->steps(0);
    Step step;
    std::int64_t sent = 0;
    while (steps->next(step)) {
        sent += step.action == Action::send ? 1 : 0;
    }
    CHECK(sent == 1'000'000 + 254);
}

TEST_CASE("Table 5.1: rounds, stalls and fan-out") {
    for (const Rank ranks : {4, 8, 16, 24, 32}) {
        CAPTURE(ranks);
        Parameters parameters = exchange(ranks, 4);
        const Cost synchronous = cost_of(*make("synchronous-shuffle", parameters));
        CHECK(synchronous.rounds == 1);
        CHECK(synchronous.stalls == 0);
        CHECK(synchronous.fan_out == ranks - 1);
        for (const std::string name : {"pairwise", "shift"}) {
            const Cost cost = cost_of(*make(name, parameters));
            CHECK(cost.rounds == ranks - 1);
            CHECK(cost.stalls == ranks - 2);
            CHECK(cost.fan_out == 1);
        }
        for (Rank fan_out = 1; fan_out < ranks; ++fan_out) {
            CAPTURE(fan_out);
            parameters.fan_out = fan_out;
            const Rank groups = (ranks - 1 + fan_out - 1) / fan_out;
            const Cost cost = cost_of(*make("group-shuffle", parameters));
            CHECK(cost.rounds == groups);
            CHECK(cost.stalls == groups - 1);
            CHECK(cost.fan_out == fan_out);
        }
    }
}

TEST_CASE("a group shuffle's own fan-out is what was used at 4, 8 and 16 ranks") {
    CHECK(own_fan_out(16) == 5);
    CHECK(own_fan_out(8) == 4);
    CHECK(own_fan_out(4) == 3);
    CHECK(own_fan_out(6) == 5); // all five others
    CHECK(own_fan_out(7) == 3); // six others in two groups
    CHECK(own_fan_out(2) == 1);
    CHECK(own_fan_out(1) == 1);
    CHECK(make("group-shuffle", exchange(16, 1))->claims().rounds == 3);
    CHECK(make("group-shuffle", exchange(8, 1))->claims().rounds == 2);
}

TEST_CASE("shuffles mix the packets of all blocks, staggered sends block by block") {
    const Parameters parameters = exchange(16, 5);
    CHECK(first_targets(*make("synchronous-shuffle", parameters), 15) == 15);
    CHECK(first_targets(*make("modified-shuffle", parameters), 15) == 15);
    CHECK(first_targets(*make("group-shuffle", parameters), 15) == 5);
    CHECK(first_targets(*make("staggered", parameters), 15) == 3);
    CHECK(first_targets(*make("shift", parameters), 15) == 3);
}

TEST_CASE("uncoordinated: everybody begins with rank 0") {
    const auto schedule = make("uncoordinated", exchange(8, 1));
    CHECK_FALSE(schedule->claims().node_contention_free);
    for (Rank rank = 1; rank < 8; ++rank) {
        const auto steps = steps_of(*schedule, rank);
        const auto first = std::ranges::find(steps, Action::send,
                                             [](const Kept& kept) { return kept.step.action; });
        CHECK(first->step.peer == 0);
        CHECK(first->step.slot == 0);
    }
}

TEST_CASE("a group of one partner is pairwise, one of all is the synchronous shuffle") {
    for (const Rank ranks : {6, 7}) {
        Parameters parameters = exchange(ranks, 2);
        parameters.fan_out = 1;
        const auto one = make("group-shuffle", parameters);
        parameters.fan_out = ranks - 1;
        const auto all = make("group-shuffle", parameters);
        parameters.fan_out = 0;
        const auto pairwise = make("pairwise", parameters);
        parameters.permutation = Permutation::edge_colour;
        const auto shuffle = make("synchronous-shuffle", parameters);
        const auto same = [](const Kept& a, const Kept& b) {
            return a.step.action == b.step.action && a.step.peer == b.step.peer &&
                   a.step.round == b.step.round && a.step.slot == b.step.slot &&
                   a.step.after == b.step.after && a.data == b.data;
        };
        for (Rank rank = 0; rank < ranks; ++rank) {
            CHECK(std::ranges::equal(steps_of(*one, rank), steps_of(*pairwise, rank), same));
            CHECK(std::ranges::equal(steps_of(*all, rank), steps_of(*shuffle, rank), same));
        }
    }
}

TEST_CASE("rounds wait for all steps of the rounds before, shuffles wait for nothing") {
    for (const Kept& kept : steps_of(*make("shift", exchange(6, 3)), 2)) {
        CHECK(kept.step.after == 6 * kept.step.round); // 3 packets each way
    }
    for (const Kept& kept : steps_of(*make("synchronous-shuffle", exchange(6, 3)), 2)) {
        CHECK(kept.step.after == 0);
    }
}

TEST_CASE("a block of a size but no packets is one message") {
    Parameters parameters = exchange(5, 3);
    parameters.segment_bytes = 0;
    for (const std::string& name : direct_names()) {
        CAPTURE(name);
        const auto schedule = make(name, parameters);
        CHECK(cost_of(*schedule).messages == 4);
        CHECK(cost_of(*schedule).bytes == 4 * 299);
        CHECK(steps_of(*schedule, 1).front().data.front().segments == whole);
    }
}

TEST_SUITE_END();
