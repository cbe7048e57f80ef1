// What an operation gives or gets, in the program's memory, as bytes that a plan can name.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sonde::tuned {

// So many elements at a place of the program's memory.
struct Part {
    std::byte* at = nullptr;
    std::int64_t count = 0;
    MPI_Datatype type = MPI_BYTE;
};

struct TypeFacts {
    std::int64_t bytes = 0;
    std::int64_t extent = 0;
    bool is_dense = false; // its elements are bytes one behind the other, in the order of the type
};
[[nodiscard]] TypeFacts facts_of(MPI_Datatype type);
// Whether a reduction may take elements of it as bytes: without gaps. Every rank has the same type.
[[nodiscard]] bool is_without_gaps(MPI_Datatype type);

// A side whose parts are open: bytes from `base` on, those of part i at places[i]. Where they are
// not dense, or must not be where they are, they are packed into memory of this object's own, one
// behind the other.
class Side {
public:
    Side() = default;

    // `apart`: into memory of its own in any case. What is given is then packed by pack(), what is
    // got comes to the program's memory by finish().
    Side(const std::vector<Part>& parts, bool apart);
    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    [[nodiscard]] const std::vector<std::int64_t>& places() const noexcept { return places_; }
    void finish() const;
    // Their types stay until free_types(), whatever the program does with them.
    void keep_types();
    void free_types();
    // Of what is given: as the program has it now.
    void pack() const;

private:
    std::vector<Part> parts_; // where they are packed
    std::vector<std::int64_t> places_;
    std::unique_ptr<std::byte[]> packed_;
    std::byte* base_ = nullptr;
    std::vector<MPI_Datatype> kept_;
};

} // namespace sonde::tuned
