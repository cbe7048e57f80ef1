// How the words of all ranks become one: MPI's reductions, and some of our own. A word of 8 bytes
// holds one element, or several of a smaller datatype.
// Every one is exact in any order that MPI may take, so that its result can be checked.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/payload.hpp"

namespace sonde::collective {

struct Context;

struct Reduction {
    std::string_view name;
    MPI_Datatype datatype;
    MPI_Op operation; // MPI_OP_NULL: made by open_reduction()
    // What a rank gives for a random word.
    std::uint64_t (*term)(std::uint64_t word) noexcept;
    // The lower rank's is on the left.
    std::uint64_t (*join)(std::uint64_t left, std::uint64_t right) noexcept;
    // Of our own, for MPI_Op_create; MPI's have none.
    MPI_User_function* function = nullptr;
    bool commutes = true; // what MPI_Op_create is told
    bool alike = false;   // every rank gives the same words: whichever MPI keeps, they are these
    std::size_t element_bytes = sizeof(std::uint64_t);
};

// sum (wraps), min, max and or (of bits) of a datatype's elements, of which floating-point ones are
// small integers; float-sum, the sum of doubles; made by MPI_Op_create, of uint64: ordered, for
// which a b is not b a; own-sum, the same as sum, which commutes; null, which does nothing. Empty:
// sum, of uint64. Throws Failure("bad_request") where the two do not go together.
[[nodiscard]] Reduction reduction_named(std::string_view name, std::string_view datatype = {});

// Whether random bits are elements of it, which any operation takes.
[[nodiscard]] bool takes_any_bits(const Reduction& reduction) noexcept;

// All ranks, before the operation: makes MPI's object, where MPI has none.
void open_reduction(Context& context);

// Memory with what this rank gives.
[[nodiscard]] Payload own_terms(const Context& context, std::size_t bytes);

// What the ranks below `end` give from `offset` on, joined in their order.
void write_joined(const Context& context, int end, std::size_t offset, std::span<std::byte> out);

} // namespace sonde::collective
