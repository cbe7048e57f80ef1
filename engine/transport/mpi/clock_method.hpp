// How the clocks of MPI ranks are put on one.
#pragma once

#include <cstdint>

namespace sonde {

enum class ClockMethod : std::uint8_t {
    tree,        // compared along a tree, a straight line of leads
    offset,      // compared along the same tree, one lead that does not change
    wtime,       // the time is MPI_Wtime, which MPI says is the same everywhere
    jones_koenig // each compared with rank 0 itself, a line through many exchanges
};

} // namespace sonde
