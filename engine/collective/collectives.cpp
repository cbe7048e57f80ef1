// Operations of all ranks of a communicator.
#include <algorithm>
#include <array>
#include <cstring>

#include "collective/entry.hpp"
#include "collective/forms.hpp"

namespace sonde::collective {
namespace collectives_rows {
namespace {

// Set-up. Elements are bytes, or words where they are joined.

void count_elements(Context& c, std::size_t element_bytes) {
    c.element_bytes = element_bytes;
    c.count = countable(c.message_bytes / element_bytes);
    c.division = Division(c.message_bytes / element_bytes, c.ranks, c.uneven);
}

// Sizes are of words; what MPI is told are elements, of which a word holds one or several.
void count_words(Context& c) {
    count_elements(c, word_bytes);
    c.count = countable(c.message_bytes / c.reduction.element_bytes);
}

void prepare_nothing(Context& /*c*/) {}

void prepare_bcast(Context& c) {
    count_elements(c, 1);
    c.got = c.own(c.message_bytes);
}

// One part to a root, or from one.
void prepare_gather(Context& c) {
    count_elements(c, 1);
    c.given = c.own(c.part_bytes());
    c.got = c.blank(c.may_be_root() ? c.total_bytes() : 0);
}

void prepare_gatherv(Context& c) {
    prepare_gather(c);
    c.got_parts = as_parts(c.division, c.ranks);
}

void prepare_scatter(Context& c) {
    count_elements(c, 1);
    c.given = c.own(c.may_be_root() ? c.total_bytes() : 0);
    c.got = c.blank(c.part_bytes());
}

void prepare_scatterv(Context& c) {
    prepare_scatter(c);
    c.given_parts = as_parts(c.division, c.ranks);
}

void prepare_allgather(Context& c) {
    count_elements(c, 1);
    c.given = c.own(c.part_bytes());
    c.got = c.blank(c.total_bytes());
}

void prepare_allgatherv(Context& c) {
    prepare_allgather(c);
    c.got_parts = as_parts(c.division, c.ranks);
}

void prepare_alltoall(Context& c) {
    count_elements(c, 1);
    c.given = c.own(c.total_bytes());
    c.got = c.blank(c.total_bytes());
}

// From rank s to rank d goes part (s + d) mod ranks: everyone gives and gets the total.
int part_between(const Context& c, int source, int destination) {
    return (source + destination) % c.ranks;
}

// Where the block for `destination` is in what `source` gives: the parts from `source` on, around.
std::size_t place_given(const Context& c, int source, int destination) {
    const Division& d = c.division;
    if (source + destination <= c.ranks) {
        return d.begin(source + destination) - d.begin(source);
    }
    return d.total() - d.begin(source) + d.begin(source + destination - c.ranks);
}

void prepare_alltoallv(Context& c) {
    prepare_alltoall(c);
    static_cast<void>(countable(c.division.total()));
    for (int other = 0; other < c.ranks; ++other) {
        // What comes from a rank is as long as what goes there, and lies at the same place.
        c.given_parts.counts.push_back(countable(c.division.size(part_between(c, c.rank, other))));
        c.given_parts.places.push_back(countable(place_given(c, c.rank, other)));
    }
    c.got_parts = c.given_parts;
}

void prepare_alltoallw(Context& c) {
    prepare_alltoallv(c);
    c.datatypes.assign(static_cast<std::size_t>(c.ranks), MPI_BYTE);
}

void prepare_reduce(Context& c) {
    count_words(c);
    c.given = own_terms(c, c.message_bytes);
    c.got = c.blank(c.may_be_root() ? c.message_bytes : 0);
}

void prepare_allreduce(Context& c) {
    count_words(c);
    c.given = own_terms(c, c.message_bytes);
    c.got = c.blank(c.message_bytes);
}

void prepare_reduce_scatter(Context& c) {
    count_words(c);
    c.given = own_terms(c, c.total_bytes());
    c.got = c.blank(c.part_bytes());
    c.got_parts = as_parts(c.division, c.ranks);
    const auto in_word = static_cast<int>(word_bytes / c.reduction.element_bytes);
    static_cast<void>(countable(c.total_bytes() / c.reduction.element_bytes));
    for (int& count : c.got_parts.counts) {
        count *= in_word;
    }
}

// Arguments of the calls.

auto barrier_arguments(Context& c) { return std::tuple(c.communicator); }

auto bcast_arguments(Context& c) {
    return std::tuple(c.got.bytes().data(), c.count, MPI_BYTE, c.root, c.communicator);
}

auto gather_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.count, MPI_BYTE, c.got.bytes().data(), c.count,
                      MPI_BYTE, c.root, c.communicator);
}

int own_part_count(const Context& c) { return static_cast<int>(c.division.size(c.rank)); }

auto gatherv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), own_part_count(c), MPI_BYTE, c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), MPI_BYTE, c.root,
                      c.communicator);
}

auto scatterv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.given_parts.counts.data(),
                      c.given_parts.places.data(), MPI_BYTE, c.got.bytes().data(),
                      own_part_count(c), MPI_BYTE, c.root, c.communicator);
}

auto allgather_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.count, MPI_BYTE, c.got.bytes().data(), c.count,
                      MPI_BYTE, c.communicator);
}

auto allgatherv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), own_part_count(c), MPI_BYTE, c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), MPI_BYTE,
                      c.communicator);
}

auto alltoallv_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.given_parts.counts.data(),
                      c.given_parts.places.data(), MPI_BYTE, c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), MPI_BYTE,
                      c.communicator);
}

auto alltoallw_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.given_parts.counts.data(),
                      c.given_parts.places.data(), c.datatypes.data(), c.got.bytes().data(),
                      c.got_parts.counts.data(), c.got_parts.places.data(), c.datatypes.data(),
                      c.communicator);
}

auto reduce_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.got.bytes().data(), c.count, c.reduction.datatype,
                      c.reduction.operation, c.root, c.communicator);
}

// Of allreduce, reduce_scatter_block, scan and exscan.
auto vector_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.got.bytes().data(), c.count, c.reduction.datatype,
                      c.reduction.operation, c.communicator);
}

auto reduce_scatter_arguments(Context& c) {
    return std::tuple(c.given.bytes().data(), c.got.bytes().data(), c.got_parts.counts.data(),
                      c.reduction.datatype, c.reduction.operation, c.communicator);
}

// What must be there.

std::size_t expect_nothing(const Context& /*c*/, Bytes /*out*/) { return 0; }

void write_bcast(const Context& c, Bytes out) {
    c.write_given(c.root, 0, out.first(c.message_bytes));
}

std::size_t expect_bcast(const Context& c, Bytes out) {
    write_bcast(c, out);
    return c.message_bytes;
}

void initial_bcast(const Context& c, Bytes out) {
    if (c.rank == c.root) {
        write_bcast(c, out);
    }
}

std::size_t expect_allgather(const Context& c, Bytes out) {
    for (int source = 0; source < c.ranks; ++source) {
        c.write_given(source, 0, out.subspan(c.division.begin(source), c.division.size(source)));
    }
    return c.total_bytes();
}

std::size_t expect_gather(const Context& c, Bytes out) {
    return c.rank == c.root ? expect_allgather(c, out) : 0;
}

std::size_t expect_scatter(const Context& c, Bytes out) {
    c.write_given(c.root, c.division.begin(c.rank), out.first(c.part_bytes()));
    return c.part_bytes();
}

std::size_t expect_alltoall(const Context& c, Bytes out) {
    const std::size_t block = c.message_bytes;
    for (int source = 0; source < c.ranks; ++source) {
        c.write_given(source, static_cast<std::size_t>(c.rank) * block,
                      out.subspan(static_cast<std::size_t>(source) * block, block));
    }
    return c.total_bytes();
}

std::size_t expect_alltoallv(const Context& c, Bytes out) {
    for (int source = 0; source < c.ranks; ++source) {
        c.write_given(source, place_given(c, source, c.rank),
                      out.subspan(place_given(c, c.rank, source),
                                  c.division.size(part_between(c, source, c.rank))));
    }
    return c.total_bytes();
}

std::size_t expect_allreduce(const Context& c, Bytes out) {
    write_joined(c, c.ranks, 0, out.first(c.message_bytes));
    return c.message_bytes;
}

std::size_t expect_reduce(const Context& c, Bytes out) {
    return c.rank == c.root ? expect_allreduce(c, out) : 0;
}

std::size_t expect_reduce_scatter(const Context& c, Bytes out) {
    write_joined(c, c.ranks, word_bytes * c.division.begin(c.rank), out.first(c.part_bytes()));
    return c.part_bytes();
}

std::size_t expect_scan(const Context& c, Bytes out) {
    write_joined(c, c.rank + 1, 0, out.first(c.message_bytes));
    return c.message_bytes;
}

// MPI says nothing of what rank 0 holds.
std::size_t expect_exscan(const Context& c, Bytes out) {
    if (c.rank == 0) {
        return 0;
    }
    write_joined(c, c.rank, 0, out.first(c.message_bytes));
    return c.message_bytes;
}

// What this rank must send at least.

std::size_t sends_nothing(const Context& /*c*/) { return 0; }

std::size_t root_sends_message(const Context& c) {
    return c.rank == c.root && c.ranks > 1 ? c.message_bytes : 0;
}

std::size_t others_send_part(const Context& c) { return c.rank == c.root ? 0 : c.part_bytes(); }

std::size_t all_send_part(const Context& c) { return c.ranks > 1 ? c.part_bytes() : 0; }

std::size_t all_send_rest(const Context& c) { return c.total_bytes() - c.part_bytes(); }

std::size_t root_sends_rest(const Context& c) { return c.rank == c.root ? all_send_rest(c) : 0; }

std::size_t all_send_other_blocks(const Context& c) {
    return c.total_bytes() - c.division.size(part_between(c, c.rank, c.rank));
}

std::size_t others_send_message(const Context& c) { return c.rank == c.root ? 0 : c.message_bytes; }

std::size_t all_send_message(const Context& c) { return c.ranks > 1 ? c.message_bytes : 0; }

std::size_t all_but_last_send(const Context& c) {
    return c.rank + 1 < c.ranks ? c.message_bytes : 0;
}

// Uneven parts, as schedules are told of them.

std::vector<std::int64_t> parts_of_ranks(const Context& c) {
    std::vector<std::int64_t> bytes;
    for (int rank = 0; rank < c.ranks; ++rank) {
        bytes.push_back(static_cast<std::int64_t>(c.element_bytes * c.division.size(rank)));
    }
    return bytes;
}

std::vector<std::int64_t> parts_of_pairs(const Context& c) {
    std::vector<std::int64_t> bytes;
    for (int from = 0; from < c.ranks; ++from) {
        for (int to = 0; to < c.ranks; ++to) {
            bytes.push_back(static_cast<std::int64_t>(c.division.size(part_between(c, from, to))));
        }
    }
    return bytes;
}

// The row of an operation with three forms.
template <auto function, auto function_started, auto arguments>
constexpr Entry in_three_forms(Entry entry) {
    entry.call = blocking<function, arguments>;
    entry.started = started<function_started, arguments>;
    entry.begin = begin<function_started, arguments>;
    entry.make_persistent = make_persistent<function, arguments>;
    return entry;
}

constexpr std::array table{
    in_three_forms<MPI_Barrier, MPI_Ibarrier, barrier_arguments>(
        {.name = "barrier",
         .sizes = Sizes::none,
         .family = schedule::Family::barrier,
         .prepare = prepare_nothing,
         .expect = expect_nothing,
         .sent = sends_nothing}),
    in_three_forms<MPI_Bcast, MPI_Ibcast, bcast_arguments>({.name = "bcast",
                                                            .rooted = true,
                                                            .family = schedule::Family::broadcast,
                                                            .prepare = prepare_bcast,
                                                            .expect = expect_bcast,
                                                            .sent = root_sends_message,
                                                            .initial = initial_bcast}),
    in_three_forms<MPI_Gather, MPI_Igather, gather_arguments>({.name = "gather",
                                                               .rooted = true,
                                                               .family = schedule::Family::gather,
                                                               .prepare = prepare_gather,
                                                               .expect = expect_gather,
                                                               .sent = others_send_part}),
    in_three_forms<MPI_Gatherv, MPI_Igatherv, gatherv_arguments>(
        {.name = "gatherv",
         .rooted = true,
         .divides = true,
         .family = schedule::Family::gather,
         .unequal = parts_of_ranks,
         .prepare = prepare_gatherv,
         .expect = expect_gather,
         .sent = others_send_part}),
    in_three_forms<MPI_Scatter, MPI_Iscatter, gather_arguments>(
        {.name = "scatter",
         .rooted = true,
         .family = schedule::Family::scatter,
         .prepare = prepare_scatter,
         .expect = expect_scatter,
         .sent = root_sends_rest}),
    in_three_forms<MPI_Scatterv, MPI_Iscatterv, scatterv_arguments>(
        {.name = "scatterv",
         .rooted = true,
         .divides = true,
         .family = schedule::Family::scatter,
         .unequal = parts_of_ranks,
         .prepare = prepare_scatterv,
         .expect = expect_scatter,
         .sent = root_sends_rest}),
    in_three_forms<MPI_Allgather, MPI_Iallgather, allgather_arguments>(
        {.name = "allgather",
         .family = schedule::Family::allgather,
         .prepare = prepare_allgather,
         .expect = expect_allgather,
         .sent = all_send_part}),
    in_three_forms<MPI_Allgatherv, MPI_Iallgatherv, allgatherv_arguments>(
        {.name = "allgatherv",
         .divides = true,
         .family = schedule::Family::allgather,
         .unequal = parts_of_ranks,
         .prepare = prepare_allgatherv,
         .expect = expect_allgather,
         .sent = all_send_part}),
    in_three_forms<MPI_Alltoall, MPI_Ialltoall, allgather_arguments>(
        {.name = "alltoall",
         .family = schedule::Family::alltoall,
         .prepare = prepare_alltoall,
         .expect = expect_alltoall,
         .sent = all_send_rest}),
    in_three_forms<MPI_Alltoallv, MPI_Ialltoallv, alltoallv_arguments>(
        {.name = "alltoallv",
         .divides = true,
         .family = schedule::Family::alltoall,
         .unequal = parts_of_pairs,
         .prepare = prepare_alltoallv,
         .expect = expect_alltoallv,
         .sent = all_send_other_blocks}),
    in_three_forms<MPI_Alltoallw, MPI_Ialltoallw, alltoallw_arguments>(
        {.name = "alltoallw",
         .divides = true,
         .family = schedule::Family::alltoall,
         .unequal = parts_of_pairs,
         .prepare = prepare_alltoallw,
         .expect = expect_alltoallv,
         .sent = all_send_other_blocks}),
    in_three_forms<MPI_Reduce, MPI_Ireduce, reduce_arguments>({.name = "reduce",
                                                               .sizes = Sizes::words,
                                                               .rooted = true,
                                                               .reduces = true,
                                                               .family = schedule::Family::reduce,
                                                               .prepare = prepare_reduce,
                                                               .expect = expect_reduce,
                                                               .sent = others_send_message,
                                                               .open = open_reduction}),
    in_three_forms<MPI_Allreduce, MPI_Iallreduce, vector_arguments>(
        {.name = "allreduce",
         .sizes = Sizes::words,
         .reduces = true,
         .family = schedule::Family::allreduce,
         .prepare = prepare_allreduce,
         .expect = expect_allreduce,
         .sent = all_send_message,
         .open = open_reduction}),
    in_three_forms<MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, vector_arguments>(
        {.name = "reduce_scatter_block",
         .sizes = Sizes::words,
         .reduces = true,
         .family = schedule::Family::reduce_scatter,
         .prepare = prepare_reduce_scatter,
         .expect = expect_reduce_scatter,
         .sent = all_send_rest,
         .open = open_reduction}),
    in_three_forms<MPI_Reduce_scatter, MPI_Ireduce_scatter, reduce_scatter_arguments>(
        {.name = "reduce_scatter",
         .sizes = Sizes::words,
         .divides = true,
         .reduces = true,
         .family = schedule::Family::reduce_scatter,
         .unequal = parts_of_ranks,
         .prepare = prepare_reduce_scatter,
         .expect = expect_reduce_scatter,
         .sent = all_send_rest,
         .open = open_reduction}),
    in_three_forms<MPI_Scan, MPI_Iscan, vector_arguments>({.name = "scan",
                                                           .sizes = Sizes::words,
                                                           .reduces = true,
                                                           .prepare = prepare_allreduce,
                                                           .expect = expect_scan,
                                                           .sent = all_but_last_send,
                                                           .open = open_reduction}),
    in_three_forms<MPI_Exscan, MPI_Iexscan, vector_arguments>({.name = "exscan",
                                                               .sizes = Sizes::words,
                                                               .reduces = true,
                                                               .prepare = prepare_allreduce,
                                                               .expect = expect_exscan,
                                                               .sent = all_but_last_send,
                                                               .open = open_reduction}),
};

} // namespace
} // namespace collectives_rows

std::span<const Entry> collectives() { return collectives_rows::table; }

} // namespace sonde::collective
