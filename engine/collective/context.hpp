// What one rank has while an operation is measured: what was asked for, its memory, its MPI
// objects.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/collective.hpp"
#include "collective/division.hpp"
#include "collective/executed.hpp"
#include "collective/operation_choices.hpp"
#include "collective/reductions.hpp"
#include "core/payload.hpp"

namespace sonde::collective {

using Bytes = std::span<std::byte>;

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// One part for each rank or neighbour, in elements.
struct Parts {
    std::vector<int> counts;
    std::vector<int> places;
};

struct Context {
    explicit Context(const Setup& setup);
    ~Context(); // frees the MPI objects, where they free all ranks together
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Whether this rank needs a root's memory in any repetition.
    [[nodiscard]] bool may_be_root() const noexcept { return rotates || rank == root; }
    [[nodiscard]] bool has_partners() const noexcept { return to != MPI_PROC_NULL; }
    [[nodiscard]] std::size_t part_bytes() const noexcept {
        return element_bytes * division.size(rank);
    }
    [[nodiscard]] std::size_t total_bytes() const noexcept {
        return element_bytes * division.total();
    }

    // The bytes that `rank` gives from `offset` on: any rank can tell those of every other.
    void write_given(int of_rank, std::size_t offset, std::span<std::byte> out) const noexcept;
    // Memory with what this rank gives.
    [[nodiscard]] Payload own(std::size_t bytes) const;
    // Memory for what comes; touched.
    [[nodiscard]] Payload blank(std::size_t bytes) const;

    // As asked for.
    MPI_Comm communicator;
    int rank;
    int ranks;
    int root; // of the repetition
    std::size_t repetition = 0;
    bool rotates;
    bool uneven;
    bool check;
    std::size_t message_bytes;
    std::uint64_t seed;
    OperationChoices choices;
    Reduction reduction;
    int to = MPI_PROC_NULL;
    int from = MPI_PROC_NULL;

    // Made by Entry::prepare, which talks to nobody.
    std::size_t element_bytes = 1;
    int count = 0; // elements of a message or of an even part
    Division division;
    Parts given_parts;
    Parts got_parts;
    Payload given;
    Payload got;   // what is checked
    Payload spare; // that of MPI's buffered mode, of packed messages, of what is compared
    std::span<std::byte> exposed; // to the others' one-sided calls
    MPI_Datatype datatype = MPI_BYTE;
    bool owns_datatype = false;
    std::vector<MPI_Datatype> datatypes;
    std::optional<Executed> executed; // by a schedule of ours, where that was asked for

    // Made by Entry::open, by all ranks together, or by the call.
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<MPI_Request> requests;
    MPI_Comm topology = MPI_COMM_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    bool is_locked = false; // the window, for all ranks
    MPI_Group to_group = MPI_GROUP_NULL;
    MPI_Group from_group = MPI_GROUP_NULL;
    bool is_attached = false; // spare, as MPI's buffer
    bool owns_reduction = false;

private:
    void free_window() noexcept;
};

// A number of elements as MPI-3.1 takes it, an int. Throws Failure("bad_request").
[[nodiscard]] int countable(std::size_t elements);

// Counts and places of a division's parts. Throws Failure("bad_request").
[[nodiscard]] Parts as_parts(const Division& division, int parts);

} // namespace sonde::collective
