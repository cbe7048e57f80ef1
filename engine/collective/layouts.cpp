// Messages whose bytes do not lie together: derived datatypes, and the same packed by MPI.
#include <algorithm>
#include <array>

#include "collective/entry.hpp"
#include "collective/messages.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace layouts_rows {
namespace {

struct Block {
    std::size_t place; // bytes from the beginning of the memory
    std::size_t bytes;
};

using Layout = std::vector<Block> (*)(std::size_t message_bytes);

// Every other word, as a column of a matrix.
std::vector<Block> vector_layout(std::size_t message_bytes) {
    std::vector<Block> blocks;
    for (std::size_t word = 0; word < message_bytes / word_bytes; ++word) {
        blocks.push_back({2 * word * word_bytes, word_bytes});
    }
    return blocks;
}

// One word and two words by turns, with one word between.
std::vector<Block> indexed_layout(std::size_t message_bytes) {
    std::vector<Block> blocks;
    std::size_t left = message_bytes;
    for (std::size_t place = 0; left > 0;) {
        const std::size_t bytes = std::min(left, (1 + blocks.size() % 2) * word_bytes);
        blocks.push_back({place, bytes});
        place += bytes + word_bytes;
        left -= bytes;
    }
    return blocks;
}

// Records of 24 bytes with members of 8, 4 and 4 bytes, and 4 unused ones before each of the small.
constexpr std::size_t record_bytes = 24;
constexpr std::array<Block, 3> members{{{0, 8}, {12, 4}, {20, 4}}};

std::vector<Block> struct_layout(std::size_t message_bytes) {
    std::vector<Block> blocks;
    for (std::size_t record = 0; record < message_bytes / (2 * word_bytes); ++record) {
        for (const Block& member : members) {
            blocks.push_back({record * record_bytes + member.place, member.bytes});
        }
    }
    return blocks;
}

void commit(Context& c, int status, MPI_Datatype made) {
    mpi::check(status, "make a datatype");
    c.datatype = made;
    c.owns_datatype = true;
    mpi::check(MPI_Type_commit(&c.datatype), "make a datatype");
}

template <Layout layout>
void prepare_memory(Context& c) {
    const std::vector<Block> blocks = layout(c.message_bytes);
    const std::size_t bytes = blocks.empty() ? 0 : blocks.back().place + blocks.back().bytes;
    static_cast<void>(countable(bytes));
    c.given = c.own(bytes);
    c.got = c.blank(bytes);
}

void prepare_vector(Context& c) {
    prepare_memory<vector_layout>(c);
    c.count = 1;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int status =
        MPI_Type_vector(countable(c.message_bytes / word_bytes), 1, 2, MPI_UINT64_T, &made);
    commit(c, status, made);
}

void prepare_indexed(Context& c) {
    prepare_memory<indexed_layout>(c);
    c.count = 1;
    std::vector<int> lengths;
    std::vector<int> places;
    for (const Block& block : indexed_layout(c.message_bytes)) {
        lengths.push_back(static_cast<int>(block.bytes / word_bytes));
        places.push_back(static_cast<int>(block.place / word_bytes));
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int status = MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(),
                                        places.data(), MPI_UINT64_T, &made);
    commit(c, status, made);
}

void prepare_struct(Context& c) {
    prepare_memory<struct_layout>(c);
    c.count = countable(c.message_bytes / (2 * word_bytes));
    const std::array<int, members.size()> lengths{1, 1, 1};
    const std::array<MPI_Aint, members.size()> places{static_cast<MPI_Aint>(members[0].place),
                                                      static_cast<MPI_Aint>(members[1].place),
                                                      static_cast<MPI_Aint>(members[2].place)};
    const std::array<MPI_Datatype, members.size()> types{MPI_UINT64_T, MPI_UINT32_T, MPI_UINT32_T};
    MPI_Datatype record = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_create_struct(static_cast<int>(members.size()), lengths.data(),
                                      places.data(), types.data(), &record),
               "make a datatype");
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int status =
        MPI_Type_create_resized(record, 0, static_cast<MPI_Aint>(record_bytes), &made);
    MPI_Type_free(&record);
    commit(c, status, made);
}

void prepare_packed(Context& c) {
    prepare_vector(c);
    int bytes = 0;
    mpi::check(MPI_Pack_size(1, c.datatype, c.communicator, &bytes), "tell the size of a pack");
    c.spare = c.blank(static_cast<std::size_t>(bytes));
}

int send_packed(Context& c) {
    const int room = static_cast<int>(c.spare.bytes().size());
    int packed = 0;
    const int status = MPI_Pack(c.given.bytes().data(), 1, c.datatype, c.spare.bytes().data(), room,
                                &packed, c.communicator);
    return status == MPI_SUCCESS ? MPI_Send(c.spare.bytes().data(), packed, MPI_PACKED, c.to,
                                            message_tag, c.communicator)
                                 : status;
}

int receive_packed(Context& c) {
    const int room = static_cast<int>(c.spare.bytes().size());
    int unpacked = 0;
    const int status = MPI_Recv(c.spare.bytes().data(), room, MPI_PACKED, c.from, message_tag,
                                c.communicator, MPI_STATUS_IGNORE);
    return status == MPI_SUCCESS ? MPI_Unpack(c.spare.bytes().data(), room, &unpacked,
                                              c.got.bytes().data(), 1, c.datatype, c.communicator)
                                 : status;
}

// What lies between the blocks must stay zero.
template <Layout layout>
void clear_gaps(const Context& c, Bytes out) {
    std::size_t end = 0;
    for (const Block& block : layout(c.message_bytes)) {
        std::ranges::fill(out.subspan(end, block.place - end), std::byte{0});
        end = block.place + block.bytes;
    }
}

template <Layout layout>
std::size_t expect_blocks(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    clear_gaps<layout>(c, out);
    for (const Block& block : layout(c.message_bytes)) {
        c.write_given(c.from, block.place, out.subspan(block.place, block.bytes));
    }
    return out.size();
}

template <Layout layout>
constexpr Entry laid_out(Entry entry) {
    entry.group = Group::datatype;
    entry.partnered = Partnered::matching;
    entry.expect = expect_blocks<layout>;
    entry.sent = sends_message;
    entry.initial = clear_gaps<layout>;
    return entry;
}

constexpr auto plain_round_trip = round_trip<send_by<MPI_Send>, receive>;

constexpr std::array table{
    laid_out<vector_layout>({.name = "send_vector",
                             .sizes = Sizes::words,
                             .prepare = prepare_vector,
                             .call = plain_round_trip}),
    laid_out<indexed_layout>({.name = "send_indexed",
                              .sizes = Sizes::words,
                              .prepare = prepare_indexed,
                              .call = plain_round_trip}),
    laid_out<struct_layout>({.name = "send_struct",
                             .sizes = Sizes::records,
                             .prepare = prepare_struct,
                             .call = plain_round_trip}),
    laid_out<vector_layout>({.name = "send_packed",
                             .sizes = Sizes::words,
                             .prepare = prepare_packed,
                             .call = round_trip<send_packed, receive_packed>}),
};

} // namespace
} // namespace layouts_rows

std::span<const Entry> layouts() { return layouts_rows::table; }

} // namespace sonde::collective
