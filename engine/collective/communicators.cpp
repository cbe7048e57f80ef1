// Making communicators. Each is freed after its repetition, outside of the timed part. The check
// looks at what was made: this rank's place, the number of ranks, and who they are.
#include <array>
#include <cstring>

#include "collective/entry.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace communicators_rows {
namespace {

// Place, number of ranks, and the sum of the squares of what the ranks were called before.
using Made = std::array<std::int64_t, 3>;

std::int64_t square(std::int64_t value) { return value * value; }

void prepare_made(Context& c) { c.got = c.blank(sizeof(Made)); }

std::size_t write(const Made& made, Bytes out) {
    std::memcpy(out.data(), made.data(), sizeof made);
    return sizeof made;
}

int duplicate(Context& c) { return MPI_Comm_dup(c.communicator, &c.made); }

int duplicate_meanwhile(Context& c) {
    const int status = MPI_Comm_idup(c.communicator, &c.made, &c.request);
    return status == MPI_SUCCESS ? MPI_Wait(&c.request, MPI_STATUS_IGNORE) : status;
}

// Even and odd ranks apart, the highest first.
int split(Context& c) { return MPI_Comm_split(c.communicator, c.rank % 2, -c.rank, &c.made); }

// Even and odd ranks apart; each makes its own communicator and knows nothing of the others.
void open_group(Context& c) {
    std::vector<int> members;
    for (int rank = c.rank % 2; rank < c.ranks; rank += 2) {
        members.push_back(rank);
    }
    MPI_Group all = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(c.communicator, &all), "make a group");
    const int status =
        MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &c.to_group);
    MPI_Group_free(&all);
    mpi::check(status, "make a group");
}

int create_group(Context& c) {
    constexpr int tag = 1;
    return MPI_Comm_create_group(c.communicator, c.to_group, tag, &c.made);
}

std::size_t expect_same(const Context& c, Bytes out) {
    Made made{c.rank, c.ranks, 0};
    for (int rank = 0; rank < c.ranks; ++rank) {
        made[2] += square(rank);
    }
    return write(made, out);
}

// The ranks of this rank's parity, in their order.
Made own_half(const Context& c) {
    Made made{c.rank / 2, 0, 0};
    for (int rank = c.rank % 2; rank < c.ranks; rank += 2) {
        ++made[1];
        made[2] += square(rank);
    }
    return made;
}

std::size_t expect_half(const Context& c, Bytes out) { return write(own_half(c), out); }

std::size_t expect_half_reversed(const Context& c, Bytes out) {
    Made made = own_half(c);
    made[0] = made[1] - 1 - made[0];
    return write(made, out);
}

void look_at(Context& c) {
    int place = 0;
    int ranks = 0;
    mpi::check(MPI_Comm_rank(c.made, &place), "tell the rank");
    mpi::check(MPI_Comm_size(c.made, &ranks), "tell the number of ranks");
    const std::int64_t mine = square(c.rank);
    Made made{place, ranks, 0};
    mpi::check(MPI_Allreduce(&mine, &made[2], 1, MPI_INT64_T, MPI_SUM, c.made),
               "use the communicator that was made");
    write(made, c.got.bytes());
}

void free_made(Context& c) {
    if (c.check) {
        look_at(c);
    }
    mpi::check(MPI_Comm_free(&c.made), "free a communicator");
}

std::size_t sends_nothing(const Context& /*c*/) { return 0; }

constexpr Entry made_by(Entry entry) {
    entry.group = Group::communicator;
    entry.sizes = Sizes::none;
    entry.prepare = prepare_made;
    entry.sent = sends_nothing;
    entry.after = free_made;
    return entry;
}

constexpr std::array table{
    made_by({.name = "comm_dup", .call = duplicate, .expect = expect_same}),
    made_by({.name = "comm_idup", .call = duplicate_meanwhile, .expect = expect_same}),
    made_by({.name = "comm_split", .call = split, .expect = expect_half_reversed}),
    made_by({.name = "comm_create_group",
             .call = create_group,
             .expect = expect_half,
             .open = open_group}),
};

} // namespace
} // namespace communicators_rows

std::span<const Entry> communicators() { return communicators_rows::table; }

} // namespace sonde::collective
