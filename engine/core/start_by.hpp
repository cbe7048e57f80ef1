// How ranks of MPI begin a repetition of an operation together.
#pragma once

#include <cstdint>

namespace sonde {

enum class StartBy : std::uint8_t {
    barrier, // all pass a barrier first
    window,  // at an instant of the common clock that was agreed beforehand
    none     // as soon as a rank has left the repetition before
};

} // namespace sonde
