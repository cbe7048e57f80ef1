// How ranks of MPI begin a repetition of an operation together.
#pragma once

#include <cstdint>

namespace sonde {

enum class StartBy : std::uint8_t {
    barrier, // all pass a barrier first
    window,  // at an instant of the common clock that was agreed beforehand
    none     // as soon as a rank has left the repetition before
};

// The bounds within which windows adapt to how busy the hosts are.
struct WindowBounds {
    std::int64_t late_ns = 1'000;        // whoever enters so much after the begin was late
    std::int64_t late_most_ns = 100'000; // what that may be widened to where few are in time
    int at_once = 32;                    // windows that are agreed on together, at most
    int growth = 16;                     // windows and slack become so many times the first ones
    std::int64_t slack_ns = 100'000;     // from the agreement to the first window, at least
};

} // namespace sonde
