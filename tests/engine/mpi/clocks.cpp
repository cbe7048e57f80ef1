// What bounds the lead of a clock, who compares with whom, and how long windows become: without
// MPI.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "collective/window_plan.hpp"
#include "core/lead.hpp"
#include "transport/mpi/clock_tree.hpp"

namespace {

using namespace sonde;
using sonde::mpi::ClockPlace;
using sonde::mpi::place_in_clock_tree;
using PlaceOf = ClockPlace (*)(int, std::span<const std::int64_t>);

using sonde::collective::Missed;
using sonde::collective::WindowPlan;

// Ranks that are without a CPU in a part of every period, on a clock of their own making.
class BusyRanks {
public:
    struct Away {
        std::int64_t from_ns;
        std::int64_t to_ns;
    };
    BusyRanks(std::vector<Away> away, std::int64_t period_ns)
        : away_(std::move(away)), period_ns_(period_ns) {}

    // Repetitions of 20 us, begun by windows: the share that all ranks began in time.
    double share_in_time(int repetitions, const WindowBounds& bounds) {
        constexpr std::int64_t call_ns = 20'000;
        constexpr std::int64_t agreeing_ns = 30'000;
        plan_ = WindowPlan(call_ns, 10'000, bounds);
        std::vector<std::int64_t> free_ns(away_.size(), 0);
        int in_time = 0;
        for (int done = 0; done < repetitions;) {
            const std::int64_t agreed_ns = all_there(std::ranges::max(free_ns)) + agreeing_ns;
            std::ranges::fill(free_ns, all_there(agreed_ns));
            const std::int64_t begin_ns = agreed_ns + plan_.slack_ns();
            Missed missed;
            const int at_once = std::min(plan_.at_once(), repetitions - done);
            for (int i = 0; i < at_once; ++i) {
                const std::int64_t window_ns = begin_ns + i * plan_.ns();
                const bool late = enter_all(free_ns, window_ns, call_ns) > bounds.late_ns;
                missed.late += late ? 1 : 0;
                missed.first = missed.first || (late && i == 0);
                in_time += late ? 0 : 1;
            }
            plan_.adapt(missed);
            done += at_once;
        }
        return static_cast<double>(in_time) / repetitions;
    }
    [[nodiscard]] const WindowPlan& plan() const { return plan_; }

private:
    // When a rank that would go on at that time does.
    [[nodiscard]] std::int64_t runs_at(std::size_t rank, std::int64_t ns) const {
        const auto [from_ns, to_ns] = away_[rank];
        const std::int64_t since_ns = ns % period_ns_;
        return since_ns >= from_ns && since_ns < to_ns ? ns - since_ns + to_ns : ns;
    }
    [[nodiscard]] std::int64_t all_there(std::int64_t ns) const {
        for (std::int64_t before_ns = -1; before_ns != ns;) {
            before_ns = ns;
            for (std::size_t rank = 0; rank < away_.size(); ++rank) {
                ns = runs_at(rank, ns);
            }
        }
        return ns;
    }
    // Everybody enters, and leaves when the last has been served; by how much the last was late.
    std::int64_t enter_all(std::vector<std::int64_t>& free_ns, std::int64_t window_ns,
                           std::int64_t call_ns) const {
        std::int64_t last_ns = 0;
        for (std::size_t rank = 0; rank < free_ns.size(); ++rank) {
            last_ns = std::max(last_ns, runs_at(rank, std::max(free_ns[rank], window_ns)));
        }
        for (std::size_t rank = 0; rank < free_ns.size(); ++rank) {
            free_ns[rank] = runs_at(rank, last_ns + call_ns);
        }
        return last_ns - window_ns;
    }

    std::vector<Away> away_;
    std::int64_t period_ns_;
    WindowPlan plan_;
};

// An exchange with a clock that the asking end's is ahead of by lead_ns.
ClockExchange exchange(std::int64_t asked_ns, std::int64_t lead_ns, std::int64_t there_ns,
                       std::int64_t back_ns) {
    constexpr std::int64_t answering_ns = 300;
    const std::int64_t came_ns = asked_ns - lead_ns + there_ns;
    return {asked_ns, came_ns, came_ns + answering_ns,
            asked_ns + there_ns + answering_ns + back_ns};
}

// Every rank has one parent, and comes to rank 0 in few steps.
void check_tree(const std::vector<std::int64_t>& groups, int most_steps,
                PlaceOf place_of = place_in_clock_tree) {
    std::vector<int> named(groups.size(), 0);
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
        const ClockPlace place = place_of(static_cast<int>(rank), groups);
        for (const int child : place.compared) {
            CHECK(place_of(child, groups).parent == static_cast<int>(rank));
            CHECK(groups[static_cast<std::size_t>(child)] != groups[rank]);
            ++named[static_cast<std::size_t>(child)];
        }
        for (const int reader : place.same) {
            CHECK(place_of(reader, groups).reads_parents_clock);
            CHECK(groups[static_cast<std::size_t>(reader)] == groups[rank]);
            ++named[static_cast<std::size_t>(reader)];
        }
        int steps = 0;
        for (int at = static_cast<int>(rank); at != 0; ++steps) {
            REQUIRE(steps <= most_steps);
            at = place_of(at, groups).parent;
        }
    }
    CHECK(named[0] == 0);
    CHECK(std::all_of(named.begin() + 1, named.end(), [](int count) { return count == 1; }));
}

} // namespace

TEST_SUITE("clocks") {
    TEST_CASE("bounds hold the lead, and are as wide as the shortest ways") {
        LeadBounds bounds;
        constexpr std::int64_t lead_ns = 3'000'000'123;
        bounds.add(exchange(1'000, lead_ns, 9'000, 2'000));
        CHECK(bounds.low_ns() <= lead_ns);
        CHECK(bounds.high_ns() >= lead_ns);
        CHECK(bounds.width_ns() == 11'000);
        bounds.add(exchange(50'000, lead_ns, 2'000, 30'000));
        // The way there of the one and the way back of the other.
        CHECK(bounds.width_ns() == 4'000);
        CHECK(bounds.middle_ns() == lead_ns);
        CHECK(bounds.round_trip_ns() == 11'000);
        CHECK(bounds.exchanges() == 2);
    }

    TEST_CASE("a clock that was set between two exchanges makes the bounds wide") {
        LeadBounds bounds;
        bounds.add(exchange(1'000, 0, 1'000, 1'000));
        bounds.add(exchange(9'000, 500'000, 1'000, 1'000));
        CHECK(bounds.low_ns() < bounds.high_ns());
        CHECK(bounds.width_ns() == 498'000);
    }

    TEST_CASE("a line of leads, there and back") {
        const LeadLine line{1'000'000'000, -750'000'000, 100e-6};
        CHECK(line.at(11'000'000'000) == -750'000'000 + 1'000'000);
        for (const std::int64_t own_ns : {2'000'000'000LL, 40'000'000'000LL}) {
            const std::int64_t other_ns = own_ns - line.at(own_ns);
            CHECK(std::abs(line.own_ns(other_ns) - own_ns) <= 2);
        }
    }

    TEST_CASE("ranks with a clock each are in a tree of a logarithm's depth") {
        std::vector<std::int64_t> groups;
        for (int ranks = 1; ranks <= 70; ++ranks) {
            groups.push_back(1'000 - ranks);
            check_tree(groups, 7);
        }
    }

    TEST_CASE("under rank 0 itself nobody is further than two steps") {
        std::vector<std::int64_t> alone;
        std::vector<std::int64_t> blocks;
        for (int rank = 0; rank < 40; ++rank) {
            alone.push_back(500 - rank);
            blocks.push_back(rank / 4);
        }
        check_tree(alone, 1, sonde::mpi::place_under_root);
        check_tree(blocks, 2, sonde::mpi::place_under_root);
    }

    TEST_CASE("a lead between two comparisons is on the line through both, or the first one's") {
        LeadSpan span;
        span.first = {1'000'000'000, 5'000, 0.0, 40};
        span.last = {3'000'000'000, 9'000, 0.0, 70};
        CHECK(span.at(2'000'000'000) == doctest::Approx(7'000));
        CHECK(span.at(3'500'000'000) == doctest::Approx(10'000));
        CHECK(span.uncertainty_ns() == 70);
        span.changes = false;
        CHECK(span.at(3'500'000'000) == doctest::Approx(5'000));
    }

    TEST_CASE("ranks of one host have a leader, wherever they are") {
        for (const int ppn : {1, 2, 5}) {
            std::vector<std::int64_t> blocks;
            std::vector<std::int64_t> round;
            for (int rank = 0; rank < 35; ++rank) {
                blocks.push_back(rank / ppn);
                round.push_back(rank % (35 / ppn));
            }
            check_tree(blocks, 7);
            check_tree(round, 7);
        }
        check_tree(std::vector<std::int64_t>(9, 42), 1);
    }

    TEST_CASE("windows grow where ranks are late and shrink where none is") {
        WindowPlan plan(50'000, 0, {});
        CHECK(plan.ns() == 100'000);
        for (const int at_once : {4, 8, 16, 32, 32}) { // few at first: nobody knows the hosts yet
            CHECK(plan.at_once() == at_once);
            plan.adapt({0, false});
        }
        const std::int64_t before_ns = plan.ns();
        CHECK(before_ns < 60'000);
        plan.adapt({2, false}); // tolerated
        CHECK(plan.ns() == before_ns);
        plan.adapt({3, false});
        CHECK(plan.ns() == 2 * before_ns);
        CHECK(plan.at_once() == 16);
        plan.adapt({0, false});
        CHECK(plan.ns() == 2 * before_ns - 2 * before_ns / 8);
        CHECK(plan.at_once() == 17);
        for (int i = 0; i < 20; ++i) { // not at once to what was too short
            plan.adapt({0, false});
            CHECK(plan.ns() > before_ns);
        }
        for (int i = 0; i < 4000; ++i) {
            plan.adapt({0, false});
        }
        CHECK(plan.ns() == 5'000);
        CHECK(plan.at_once() == 32);
        for (int i = 0; i < 100; ++i) {
            plan.adapt({plan.at_once(), true});
        }
        CHECK(plan.ns() == 1'600'000);
        CHECK(plan.at_once() == 1);
        CHECK(plan.slack_ns() == 1'600'000);
        for (int i = 0; i < 100; ++i) {
            plan.adapt({0, false});
        }
        CHECK(plan.slack_ns() == 100'000);
    }
    TEST_CASE("windows stay within the bounds that are set") {
        sonde::WindowBounds bounds;
        bounds.at_once = 8;
        bounds.growth = 1;
        bounds.slack_ns = 20'000;
        WindowPlan plan(50'000, 10'000, bounds);
        CHECK(plan.slack_ns() == 40'000); // a barrier takes longer
        for (int i = 0; i < 50; ++i) {
            plan.adapt({plan.at_once(), true});
            CHECK(plan.ns() == 100'000);
            CHECK(plan.slack_ns() == 40'000);
        }
    }
    TEST_CASE("ranks that lose their CPU by turns begin most windows in time") {
        // Of 10 ms each is without a CPU for 4, not the same ones: what two ranks on one
        // CPU look like that someone else wants as well.
        BusyRanks ranks({{0, 4'000'000}, {6'000'000, 9'500'000}}, 10'000'000);
        const double adapted = ranks.share_in_time(4'000, {});
        CHECK(adapted > 0.6);
        // Idle hosts lose none, and go on to agree on many windows at once.
        BusyRanks idle({{0, 0}, {0, 0}}, 10'000'000);
        CHECK(idle.share_in_time(4'000, {}) > 0.95);
    }
}
