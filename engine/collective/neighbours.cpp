// Neighbourhood collectives on a ring: a Cartesian communicator of one periodic dimension. Every
// rank has two neighbours, the one below and the one above, which are one rank where there are two
// and itself where there is one.
#include <array>

#include "collective/entry.hpp"
#include "collective/forms.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace neighbours_rows {
namespace {

constexpr int neighbours_of_each = 2;

int below(const Context& c) { return (c.rank + c.ranks - 1) % c.ranks; }
int above(const Context& c) { return (c.rank + 1) % c.ranks; }

void open_ring(Context& c) {
    constexpr int periodic = 1;
    constexpr int reorder = 0;
    mpi::check(MPI_Cart_create(c.communicator, 1, &c.ranks, &periodic, reorder, &c.topology),
               "make a ring of all ranks");
    mpi::check(MPI_Comm_set_errhandler(c.topology, MPI_ERRORS_RETURN), "set its error handler");
}

void prepare_allgather(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(c.message_bytes);
    c.got = c.blank(neighbours_of_each * c.message_bytes);
}

void prepare_alltoall(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(neighbours_of_each * c.message_bytes);
    c.got = c.blank(neighbours_of_each * c.message_bytes);
}

// Rank r gives part r of as many as there are ranks.
void prepare_allgatherv(Context& c) {
    c.division = Division(c.message_bytes, c.ranks, c.uneven);
    static_cast<void>(countable(c.division.total()));
    const std::size_t from_below = c.division.size(below(c));
    const std::size_t from_above = c.division.size(above(c));
    c.count = countable(c.division.size(c.rank));
    c.got_parts.counts = {countable(from_below), countable(from_above)};
    c.got_parts.places = {0, countable(from_below)};
    c.given = c.own(c.part_bytes());
    c.got = c.blank(from_below + from_above);
}

// Part 0 of two goes below, part 1 above: the parts that come are the other way about.
void prepare_alltoallv(Context& c) {
    c.division = Division(c.message_bytes, neighbours_of_each, c.uneven);
    c.given_parts = as_parts(c.division, neighbours_of_each);
    c.got_parts.counts = {c.given_parts.counts[1], c.given_parts.counts[0]};
    c.got_parts.places = {0, c.given_parts.counts[1]};
    c.given = c.own(c.division.total());
    c.got = c.blank(c.division.total());
}

auto allgather_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.count, MPI_BYTE, c.got.bytes().data(), c.count,
                      MPI_BYTE, c.topology);
}

auto allgatherv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.count, MPI_BYTE, c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), MPI_BYTE, c.topology);
}

auto alltoallv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.given_parts.counts.data(),
                      c.given_parts.places.data(), MPI_BYTE, c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), MPI_BYTE, c.topology);
}

std::size_t expect_allgather(const Context& c, Bytes out) {
    c.write_given(below(c), 0, out.first(c.message_bytes));
    c.write_given(above(c), 0, out.subspan(c.message_bytes, c.message_bytes));
    return out.size();
}

std::size_t expect_allgatherv(const Context& c, Bytes out) {
    const std::size_t from_below = c.division.size(below(c));
    c.write_given(below(c), 0, out.first(from_below));
    c.write_given(above(c), 0, out.subspan(from_below));
    return out.size();
}

std::size_t expect_alltoall(const Context& c, Bytes out) {
    c.write_given(below(c), c.message_bytes, out.first(c.message_bytes));
    c.write_given(above(c), 0, out.subspan(c.message_bytes, c.message_bytes));
    return out.size();
}

std::size_t expect_alltoallv(const Context& c, Bytes out) {
    const std::size_t from_below = c.division.size(1);
    c.write_given(below(c), c.division.begin(1), out.first(from_below));
    c.write_given(above(c), 0, out.subspan(from_below));
    return out.size();
}

// The same data to both neighbours: once where they are one rank.
std::size_t sends_own(const Context& c) {
    const int others = c.ranks > 2 ? 2 : c.ranks - 1;
    return static_cast<std::size_t>(others) * c.given.size();
}

std::size_t sends_both_blocks(const Context& c) { return c.ranks > 1 ? c.given.size() : 0; }

template <auto function, auto function_started, auto arguments>
constexpr Entry on_the_ring(Entry entry) {
    entry.group = Group::neighbourhood;
    entry.call = blocking<function, arguments>;
    entry.started = started<function_started, arguments>;
    entry.begin = begin<function_started, arguments>;
    entry.make_persistent = make_persistent<function, arguments>;
    entry.open = open_ring;
    return entry;
}

constexpr std::array table{
    on_the_ring<MPI_Neighbor_allgather, MPI_Ineighbor_allgather, allgather_arguments>(
        {.name = "neighbor_allgather",
         .prepare = prepare_allgather,
         .expect = expect_allgather,
         .sent = sends_own}),
    on_the_ring<MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, allgatherv_arguments>(
        {.name = "neighbor_allgatherv",
         .divides = true,
         .prepare = prepare_allgatherv,
         .expect = expect_allgatherv,
         .sent = sends_own}),
    on_the_ring<MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, allgather_arguments>(
        {.name = "neighbor_alltoall",
         .prepare = prepare_alltoall,
         .expect = expect_alltoall,
         .sent = sends_both_blocks}),
    on_the_ring<MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, alltoallv_arguments>(
        {.name = "neighbor_alltoallv",
         .divides = true,
         .prepare = prepare_alltoallv,
         .expect = expect_alltoallv,
         .sent = sends_both_blocks}),
};

} // namespace
} // namespace neighbours_rows

std::span<const Entry> neighbours() { return neighbours_rows::table; }

} // namespace sonde::collective
