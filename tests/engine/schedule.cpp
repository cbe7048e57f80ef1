// Schedules: every algorithm proven at every number of ranks, and a checker that finds what is
// wrong.
#include "schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/failure.hpp"
#include "schedule/check.hpp"
#include "schedule/holdings.hpp"
#include "schedule/patterns.hpp"
#include "schedule/read.hpp"

using namespace sonde::schedule;
using sonde::Failure;

TEST_SUITE_BEGIN("schedule");

namespace {

Parameters sized(Rank ranks, std::int64_t bytes, std::int64_t segment_bytes = 0) {
    Parameters parameters;
    parameters.ranks = ranks;
    parameters.block_bytes = bytes;
    parameters.segment_bytes = segment_bytes;
    return parameters;
}

std::vector<Step> steps_of(const Schedule& schedule, Rank rank) {
    std::vector<Step> all;
    const auto steps = schedule.steps(rank);
    Step step;
    while (steps->next(step)) {
        all.push_back(step);
    }
    return all;
}

// "0>1 0>2": who sends to whom in a slot.
std::set<std::string> slot_of(const Schedule& schedule, std::int64_t slot) {
    std::set<std::string> pairs;
    for (Rank rank = 0; rank < schedule.parameters().ranks; ++rank) {
        for (const Step& step : steps_of(schedule, rank)) {
            if (step.action == Action::send && step.slot == slot) {
                pairs.insert(std::to_string(rank) + ">" + std::to_string(step.peer));
            }
        }
    }
    return pairs;
}

Findings found(const std::string& name, const Parameters& parameters) {
    return examine(*make_schedule(name, parameters), find_algorithm(name).family);
}

// Another schedule with a change made to each step; a step that is not changed back to is left out.
class Changed final : public Schedule {
public:
    using Change = std::function<bool(Rank, std::int64_t, Step&)>;

    Changed(std::unique_ptr<Schedule> base, Change change, Claims claims)
        : base_(std::move(base)), change_(std::move(change)), claims_(claims) {}

    [[nodiscard]] const Parameters& parameters() const override { return base_->parameters(); }
    [[nodiscard]] const Layout& layout() const override { return base_->layout(); }
    [[nodiscard]] Claims claims() const override { return claims_; }
    [[nodiscard]] std::unique_ptr<Steps> steps(Rank rank) const override {
        return std::make_unique<ChangedSteps>(*this, rank);
    }

private:
    class ChangedSteps final : public Steps {
    public:
        ChangedSteps(const Changed& owner, Rank rank)
            : owner_(&owner), rank_(rank), steps_(owner.base_->steps(rank)) {}
        bool next(Step& step) override {
            while (steps_->next(step)) {
                if (owner_->change_(rank_, number_++, step)) {
                    return true;
                }
            }
            return false;
        }

    private:
        const Changed* owner_;
        Rank rank_;
        std::int64_t number_ = 0;
        std::unique_ptr<Steps> steps_;
    };

    std::unique_ptr<Schedule> base_;
    Change change_;
    Claims claims_;
};

std::string first_problem(const std::string& name, const Parameters& parameters,
                          const Changed::Change& change, Claims claims = {}) {
    const Changed changed(make_schedule(name, parameters), change, claims);
    const Findings findings = examine(changed, find_algorithm(name).family);
    return findings.good() ? "good" : findings.problems.front();
}

void check_said(const std::string& said, const std::string& words) {
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
}

void check_refused(const std::string& name, const Parameters& parameters,
                   const std::string& words) {
    std::string said = "accepted";
    try {
        (void)make_schedule(name, parameters);
    } catch (const Failure& failure) {
        CHECK(failure.code() == "bad_request");
        said = failure.what();
    }
    check_said(said, words);
}

} // namespace

TEST_CASE("the binomial broadcast's tree") {
    const auto schedule = make_schedule("broadcast/binomial", sized(8, 100));
    CHECK(slot_of(*schedule, 0) == std::set<std::string>{"0>4"});
    CHECK(slot_of(*schedule, 1) == std::set<std::string>{"0>2", "4>6"});
    CHECK(slot_of(*schedule, 2) == std::set<std::string>{"0>1", "2>3", "4>5", "6>7"});
    Parameters parameters = sized(6, 100);
    parameters.root = 4;
    CHECK(slot_of(*make_schedule("broadcast/binomial", parameters), 0) ==
          std::set<std::string>{"4>2"});
}

TEST_CASE("the model's tree sends every packet to all children before the next one") {
    const auto schedule = make_schedule("broadcast/tree", sized(8, 3000, 1500));
    std::vector<Rank> peers;
    for (const Step& step : steps_of(*schedule, 0)) {
        peers.push_back(step.peer);
    }
    CHECK(peers == std::vector<Rank>{4, 2, 1, 4, 2, 1});
}

TEST_CASE("a binomial scatter halves what is left, a gather doubles what it has") {
    std::vector<std::int64_t> bytes;
    for (const Step& step : steps_of(*make_schedule("scatter/binomial", sized(16, 10)), 0)) {
        bytes.push_back(step.bytes);
    }
    CHECK(bytes == std::vector<std::int64_t>{80, 40, 20, 10});
    bytes.clear();
    for (const Step& step : steps_of(*make_schedule("gather/binomial", sized(13, 10)), 0)) {
        bytes.push_back(step.bytes);
    }
    CHECK(bytes == std::vector<std::int64_t>{10, 20, 40, 50});
}

TEST_CASE("bytes and rounds are those of the cost formulas") {
    const std::int64_t message = 64'000;
    for (const Rank ranks : {2, 8, 16, 64}) {
        const std::int64_t levels = ceil_log2(ranks);
        const std::int64_t most = message * (ranks - 1) / ranks;
        const TrafficCounts ring = found("broadcast/scatter-ring", sized(ranks, message)).counts;
        CHECK(ring.rounds == levels + ranks - 1);
        CHECK(ring.busiest_bytes ==
              2 * most); // the root's: (p-1)/p n to scatter, as much to gather
        const TrafficCounts doubling =
            found("broadcast/scatter-recursive-doubling", sized(ranks, message)).counts;
        CHECK(doubling.rounds == 2 * levels);
        CHECK(doubling.busiest_bytes == 2 * most);
        const TrafficCounts rabenseifner =
            found("allreduce/rabenseifner", sized(ranks, message)).counts;
        CHECK(rabenseifner.rounds == 2 * levels);
        CHECK(rabenseifner.busiest_bytes == 2 * most);
        CHECK(found("allreduce/ring", sized(ranks, message)).counts.busiest_bytes == 2 * most);
    }
    // Recursive doubling of 8 blocks of 1000: 7 + 6 + 4 of them.
    CHECK(found("reduce-scatter/recursive-doubling", sized(8, 1000)).counts.busiest_bytes ==
          17'000);
}

TEST_CASE("rounds, stalls, messages and bytes of the busiest rank at 16 ranks") {
    struct Row {
        const char* name;
        std::int64_t rounds, stalls, messages, bytes; // of 16 bytes
    };
    const std::vector<Row> table{{"broadcast/linear", 1, 0, 15, 240},
                                 {"broadcast/binomial", 4, 3, 4, 64},
                                 {"broadcast/scatter-recursive-doubling", 8, 7, 8, 30},
                                 {"broadcast/scatter-ring", 19, 18, 19, 30},
                                 {"scatter/linear", 1, 0, 15, 240},
                                 {"scatter/binomial", 4, 3, 4, 240},
                                 {"gather/linear", 1, 0, 1, 16},
                                 {"gather/binomial", 4, 3, 1, 128},
                                 {"allgather/recursive-doubling", 4, 3, 4, 240},
                                 {"allgather/bruck", 4, 3, 4, 240},
                                 {"allgather/ring", 15, 14, 15, 240},
                                 {"barrier/dissemination", 4, 3, 4, 0},
                                 {"barrier/tree", 8, 7, 4, 0},
                                 {"reduce/binomial", 4, 3, 1, 16},
                                 {"reduce/rabenseifner", 8, 7, 5, 23},
                                 {"allreduce/recursive-doubling", 4, 3, 4, 64},
                                 {"allreduce/rabenseifner", 8, 7, 8, 30},
                                 {"allreduce/ring", 30, 29, 30, 30},
                                 {"reduce-scatter/recursive-halving", 4, 3, 4, 240},
                                 {"reduce-scatter/recursive-doubling", 4, 3, 4, 784},
                                 {"reduce-scatter/pairwise", 15, 14, 15, 240}};
    for (const Row& row : table) {
        const TrafficCounts counts = found(row.name, sized(16, 16)).counts;
        INFO(row.name);
        CHECK(counts.rounds == row.rounds);
        CHECK(counts.stalls == row.stalls);
        CHECK(counts.busiest_messages == row.messages);
        CHECK(counts.busiest_bytes == row.bytes);
    }
}

TEST_CASE("with a number of ranks that is no power of two, folding adds rounds") {
    for (const Rank ranks : {3, 5, 6, 7, 12, 33, 63}) {
        const std::int64_t lower = floor_log2(ranks);
        const auto rounds = [&](const char* name) {
            return found(name, sized(ranks, 1000)).counts.rounds;
        };
        CHECK(rounds("allgather/recursive-doubling") == lower + 2);
        CHECK(rounds("allreduce/recursive-doubling") == lower + 2);
        CHECK(rounds("allreduce/rabenseifner") == 2 * lower + 2);
        CHECK(rounds("reduce-scatter/recursive-halving") == lower + 2);
        CHECK(rounds("reduce/rabenseifner") == 2 * lower + 1);
        CHECK(rounds("broadcast/scatter-recursive-doubling") == 2 * lower + 3);
        Parameters excluded = sized(ranks, 1000);
        excluded.root = 1; // folds, and is the odd one
        CHECK(found("reduce/rabenseifner", excluded).counts.rounds == 2 * lower + 2);
    }
}

TEST_CASE("all who send to the root at once are seen to") {
    const TrafficCounts counts = found("gather/linear", sized(9, 10)).counts;
    CHECK(counts.most_to_rank == 8);
    CHECK(found("gather/binomial", sized(9, 10)).counts.most_to_rank == 1);
}

TEST_CASE("an operation that does not commute is combined in the order of the ranks") {
    for (const char* name : {"reduce/binomial", "allreduce/recursive-doubling",
                             "reduce-scatter/recursive-doubling", "reduce-scatter/pairwise"}) {
        for (Rank ranks = 1; ranks <= 33; ++ranks) {
            Parameters parameters = sized(ranks, 64);
            parameters.commutative = false;
            INFO(name, " ", ranks);
            CHECK(found(name, parameters).rank_order);
        }
    }
    CHECK(!found("reduce-scatter/pairwise", sized(8, 64)).rank_order);
}

TEST_CASE("a generator holds its place, not its steps") {
    const auto schedule = make_schedule("allgather/ring", sized(most_ranks, 1));
    const auto steps = schedule->steps(5);
    Step step;
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(steps->next(step));
    }
    CHECK(step.round == 499);
    CHECK(step.peer == 4);
}

TEST_CASE("layouts") {
    const Layout divided = Layout::divided(100, 8, 4, 0); // of 16 bytes each
    CHECK(divided.bytes(0, 5) == 16);
    CHECK(divided.bytes(0, 6) == 4);
    CHECK(divided.bytes(0, 7) == 0);
    CHECK(divided.bytes({.block = 5, .blocks = 3}, 1) == 20);
    CHECK(divided.bytes({.block = 6, .blocks = 4}, 1) == 36); // around to 0 and 1
    const Layout packets = Layout::equal(4, 2500, 1000);
    CHECK(packets.segments(0, 0) == 3);
    CHECK(packets.bytes(0, 0, 1) == 1000);
    CHECK(packets.bytes(0, 0, 2) == 500);
    CHECK(packets.bytes({.origins = 2, .block = 1, .blocks = 2, .segment = 1, .segments = 5}, 9) ==
          4 * 1500);
    const Layout huge = Layout::equal(2, most_block_bytes, most_block_bytes / 4);
    CHECK(huge.bytes({.blocks = 2}, 1) == 2 * most_block_bytes);
    const Layout origins = Layout::by_origin({3, 0, 5}, 0);
    CHECK(origins.bytes({.origin = 2, .origins = 2}, 3) == 8);
    CHECK(origins.empty({.origin = 1}, 3));
    CHECK(!Layout::tokens().empty({.origin = 1}, 3));
}

TEST_CASE("contributions") {
    const Contributions low{{0, 2}};
    const Contributions high{{3, 5}};
    CHECK(join(low, high) == Contributions{{0, 5}});
    CHECK(in_rank_order(join(low, high), 6));
    CHECK(complete(join(high, low), 6));
    CHECK(!in_rank_order(join(high, low), 6));
    CHECK(!complete(join(low, high), 7));
    CHECK(!complete(join(low, {{2, 5}}), 6));
    CHECK(!complete(join(join(low, high), low), 6));
}

TEST_CASE("the checker finds what is wrong") {
    const auto same = [](Rank, std::int64_t, Step&) { return true; };
    CHECK(first_problem("broadcast/binomial", sized(8, 100), same) == "good");
    check_said(first_problem("broadcast/binomial", sized(8, 100),
                             [](Rank rank, std::int64_t, Step& step) {
                                 return rank != 6 || step.action != Action::send;
                             }),
               "deadlock: rank 7 waits in step 0 to receive from rank 6");
    check_said(first_problem("allgather/ring", sized(4, 100),
                             [](Rank rank, std::int64_t number, Step& step) {
                                 if (rank == 2 && number == 2) {
                                     step.data.origin = 0;
                                 }
                                 return true;
                             }),
               "rank 2 sends in step 2 what it does not have");
    check_said(first_problem("scatter/linear", sized(4, 100),
                             [](Rank, std::int64_t, Step& step) {
                                 step.data.block = 1;
                                 return true;
                             }),
               "rank 2 ends without segment 0 of block 2 of rank 0");
    check_said(first_problem("allgather/ring", sized(4, 100),
                             [](Rank, std::int64_t, Step& step) {
                                 step.bytes += 1;
                                 return true;
                             }),
               "sends 101 bytes in step 0, its data are 100");
    // Blocking sends round a ring wait for each other.
    check_said(first_problem("allgather/ring", sized(4, 100),
                             [](Rank, std::int64_t number, Step& step) {
                                 step.after = number;
                                 return true;
                             }),
               "deadlock: rank 0 waits in step 0 to send to rank 1");
}

TEST_CASE("the checker finds wrong reductions") {
    const auto without_combining = [](Rank rank, std::int64_t, Step& step) {
        return rank != 2 || step.action != Action::combine;
    };
    check_said(first_problem("reduce/binomial", sized(4, 8), without_combining), "step");
    check_said(first_problem("allreduce/recursive-doubling", sized(4, 8),
                             [](Rank, std::int64_t, Step& step) {
                                 if (step.action == Action::receive) {
                                     step.place = Place::named;
                                 }
                                 return true;
                             }),
               "receives what it is sending or receiving");
    Claims in_order;
    in_order.rank_order = true;
    check_said(first_problem(
                   "allreduce/recursive-doubling", sized(4, 8),
                   [](Rank, std::int64_t, Step& step) {
                       step.left = Left::own;
                       return true;
                   },
                   in_order),
               "claimed to combine in the order of the ranks");
}

TEST_CASE("the checker finds claims that do not hold") {
    const auto same = [](Rank, std::int64_t, Step&) { return true; };
    const auto said = [&](const char* name, const Claims& claims) {
        return first_problem(name, sized(8, 100), same, claims);
    };
    check_said(said("allgather/ring", {.rounds = 6}), "rounds: 6 claimed, 7 counted");
    check_said(said("allgather/ring", {.stalls = 0}), "stalls: 0 claimed, 6 counted");
    check_said(said("scatter/linear", {.fan_out = 6}), "fan-out: 6 claimed, 7 counted");
    check_said(said("scatter/linear", {.messages = 6}), "messages");
    check_said(said("scatter/linear", {.bytes = 6}), "bytes");
    check_said(said("gather/linear", {.node_contention_free = true}), "7 messages go to a rank");
    check_said(said("gather/linear", {.switch_changes = true}), "without a hierarchy");
}

TEST_CASE("what an algorithm cannot use or have is refused with a reason") {
    const auto with = [](auto change) {
        Parameters parameters = sized(8, 100);
        change(parameters);
        return parameters;
    };
    check_refused("broadcast/star", sized(8, 1), "there is no algorithm broadcast/star");
    check_refused("broadcast/chain", sized(0, 1), "ranks must be from 1 to 1048576, not 0");
    check_refused("broadcast/chain", sized(most_ranks + 1, 1), "ranks must be");
    check_refused("broadcast/chain", with([](Parameters& p) { p.root = 8; }),
                  "root must be from 0 to 7, not 8");
    check_refused("allgather/ring", with([](Parameters& p) { p.root = 1; }), "no use for a root");
    check_refused("allgather/ring", with([](Parameters& p) { p.window = 3; }), "a window");
    check_refused("allgather/ring", with([](Parameters& p) {
                      p.sizes = {1, 2};
                  }),
                  "sizes must be 8 numbers");
    check_refused("allgather/ring", with([](Parameters& p) { p.commutative = false; }),
                  "reduces nothing");
    check_refused("allreduce/ring", with([](Parameters& p) { p.commutative = false; }),
                  "needs an operation that commutes");
    check_refused("allgather/ring", with([](Parameters& p) {
                      p.hierarchy = {3, 3};
                  }),
                  "multiply to the 8 ranks");
    check_refused("allgather/ring", sized(2, most_block_bytes, 1), "larger segment_bytes");
}

TEST_SUITE_END();
