// What executing a schedule costs over the same messages written by hand: for `python -m bench
// --only schedules`, which takes the lines that rank 0 prints. Nothing is judged here.
#include <doctest/doctest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "collective/entry.hpp"
#include "ranks.hpp"
#include "schedule/schedule.hpp"

using namespace ranks;

namespace {

constexpr std::size_t rounds = 31;
constexpr std::size_t calls = 200;
constexpr int tag = 78;

// The pairwise exchange: each partner by shift, one after the other.
int alltoall_by_hand(Context& c) {
    const auto block = static_cast<std::size_t>(c.count);
    std::byte* const given = c.given.bytes().data();
    std::byte* const got = c.got.bytes().data();
    std::memcpy(got + static_cast<std::size_t>(c.rank) * block,
                given + static_cast<std::size_t>(c.rank) * block, block);
    for (int step = 1; step < c.ranks; ++step) {
        const int to = (c.rank + step) % c.ranks;
        const int from = (c.rank + c.ranks - step) % c.ranks;
        std::array<MPI_Request, 2> requests{};
        MPI_Irecv(got + static_cast<std::size_t>(from) * block, c.count, MPI_BYTE, from, tag,
                  c.communicator, requests.data());
        MPI_Isend(given + static_cast<std::size_t>(to) * block, c.count, MPI_BYTE, to, tag,
                  c.communicator, &requests[1]);
        const int status = MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        if (status != MPI_SUCCESS) {
            return status;
        }
    }
    return MPI_SUCCESS;
}

// The median of so many calls in a row, ns.
double median_ns(const Setup& asked, const Entry& entry) {
    std::vector<std::int64_t> times = prepare(asked, entry)->run(timebase(), {}).duration_ns;
    std::ranges::nth_element(times, times.begin() + calls / 2);
    return static_cast<double>(times[calls / 2]);
}

// Of either way in turn, a line for each round: bytes, by a schedule, by hand.
void in_turn(std::size_t bytes) {
    Setup plain = setup("alltoall", bytes);
    plain.count = calls;
    plain.check_data = false;
    Setup by_schedule = plain;
    by_schedule.choices.schedule = schedule::Asked{};
    by_schedule.choices.schedule->algorithm = "alltoall/shift";
    Entry by_hand = find_entry("alltoall");
    by_hand.call = alltoall_by_hand;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::array<double, 2> found{};
        for (const std::size_t way : {round % 2, 1 - round % 2}) {
            found.at(way) = way == 0 ? median_ns(by_schedule, find_entry("alltoall"))
                                     : median_ns(plain, by_hand);
        }
        if (plain.rank == 0) {
            std::printf("%zu %.1f %.1f\n", bytes, found[0], found[1]);
        }
    }
}

} // namespace

TEST_SUITE("overhead") {
    TEST_CASE("a schedule beside the same messages written by hand") {
        for (const std::size_t bytes : {8UL, 1024UL, 16384UL, 262144UL}) {
            in_turn(bytes);
        }
    }
}
