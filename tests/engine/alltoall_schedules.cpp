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

#include "core/failure.hpp"
#include "schedule/alltoall_hierarchy.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("alltoall_schedules");

namespace {

constexpr std::int64_t packet_bytes = 100;

std::unique_ptr<Schedule> make(std::string_view name, const Parameters& parameters) {
    for (const Algorithm& algorithm : alltoall_algorithms()) {
        if (algorithm.name == std::string("alltoall/").append(name)) {
            check(algorithm, parameters);
            return algorithm.make(parameters);
        }
    }
    throw sonde::Failure("bad_request", "no such algorithm");
}

// A block of so many packets, the last one not full.
Parameters exchange(Rank ranks, std::int64_t packets) {
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

std::vector<Kept> steps_of(const Schedule& schedule, Rank rank) {
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

// Whether blocks that are carried round by round, each in one place at a time, all get home.
bool carried_home(const Schedule& schedule) {
    const Rank ranks = schedule.parameters().ranks;
    const auto place = [&](Rank origin, Rank block) {
        return static_cast<std::size_t>(origin) * static_cast<std::size_t>(ranks) +
               static_cast<std::size_t>(block);
    };
    std::vector<Rank> at(place(ranks, 0));
    std::map<std::int32_t, std::vector<std::pair<Rank, Kept>>> rounds;
    for (Rank rank = 0; rank < ranks; ++rank) {
        for (Rank block = 0; block < ranks; ++block) {
            at[place(rank, block)] = rank;
        }
        for (Kept& kept : steps_of(schedule, rank)) {
            if (kept.step.action == Action::send) {
                rounds[kept.step.round].emplace_back(rank, std::move(kept));
            }
        }
    }
    for (const auto& [round, sends] : rounds) {
        std::vector<Rank> then = at;
        for (const auto& [rank, kept] : sends) {
            for (const Range& range : kept.data) {
                for (Rank i = 0; i < range.origins; ++i) {
                    const Rank origin = (range.origin + i) % ranks;
                    const std::size_t item = place(origin, range.block);
                    const bool empty = schedule.layout().bytes(origin, range.block) == 0;
                    if (range.blocks != 1 || (at[item] != rank && !empty)) {
                        return false; // it has not what it sends
                    }
                    then[item] = kept.step.peer;
                }
            }
        }
        at = then;
    }
    for (Rank origin = 0; origin < ranks; ++origin) {
        for (Rank block = 0; block < ranks; ++block) {
            if (schedule.layout().bytes(origin, block) > 0 && at[place(origin, block)] != block) {
                return false;
            }
        }
    }
    return true;
}

struct Cost {
    std::int64_t rounds = 0;
    std::int64_t stalls = 0;
    Rank fan_out = 0;
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
};

Cost cost_of_rank(const Schedule& schedule, Rank rank, std::set<std::int32_t>& rounds) {
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

Cost cost_of(const Schedule& schedule) {
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

// Sizes of all pairs by chance, some of them nothing.
std::vector<std::int64_t> unequal_sizes(Rank ranks, std::mt19937& random) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks) *
                                    static_cast<std::size_t>(ranks));
    for (std::int64_t& size : sizes) {
        const auto drawn = std::uniform_int_distribution<std::int64_t>(-200, 450)(random);
        size = std::max<std::int64_t>(drawn, 0);
    }
    return sizes;
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
        CHECK(carried_home(*make("bruck", exchange(ranks, 1))));
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
        parameters.segment_bytes = 0;
        CHECK(carried_home(*make("bruck", parameters)));
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

TEST_CASE("Bruck: every block gets home, in ceil(log2 p) rounds of one message") {
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
        CAPTURE(ranks);
        Parameters parameters;
        parameters.ranks = ranks;
        parameters.block_bytes = 7;
        const auto schedule = make("bruck", parameters);
        CHECK(carried_home(*schedule));
        std::int64_t rounds = 0;
        while ((std::int64_t{1} << rounds) < ranks) {
            ++rounds;
        }
        CHECK(schedule->claims().rounds == rounds);
        CHECK(cost_of(*schedule).messages == rounds);
    }
}

TEST_CASE("Bruck sends half of everything in each round of a power of two") {
    Parameters parameters;
    parameters.ranks = 16;
    parameters.block_bytes = 10;
    const auto schedule = make("bruck", parameters);
    for (const Kept& kept : steps_of(*schedule, 5)) {
        if (kept.step.action == Action::send) {
            CHECK(kept.step.bytes == 80);
            CHECK(kept.step.peer == (5 + (1 << kept.step.round)) % 16);
        }
    }
    // Packing and unpacking each round, and two rotations of all blocks.
    const auto steps = steps_of(*schedule, 5);
    CHECK(steps.front().step.action == Action::copy);
    CHECK(steps.front().step.bytes == 160);
    CHECK(steps.back().step.bytes == 160);
    CHECK(std::ranges::count(steps, Action::copy,
                             [](const Kept& kept) { return kept.step.action; }) == 2 + 2 * 4);
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
