// What bounds the lead of a clock, who compares with whom, and how long windows become: without
// MPI.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/start.hpp"
#include "core/lead.hpp"
#include "transport/mpi/clock_tree.hpp"

namespace {

using namespace sonde;
using sonde::mpi::ClockPlace;
using sonde::mpi::place_in_clock_tree;
using PlaceOf = ClockPlace (*)(int, std::span<const std::int64_t>);

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
        collective::WindowLength length(50'000);
        CHECK(length.ns() == 100'000);
        length.adapt(3, 32);
        CHECK(length.ns() == 200'000);
        length.adapt(1, 32); // tolerated
        CHECK(length.ns() == 200'000);
        length.adapt(0, 32);
        CHECK(length.ns() == 175'000);
        for (int i = 0; i < 100; ++i) {
            length.adapt(0, 32);
        }
        CHECK(length.ns() == 5'000);
        for (int i = 0; i < 100; ++i) {
            length.adapt(32, 32);
        }
        CHECK(length.ns() == 1'600'000);
    }
}
