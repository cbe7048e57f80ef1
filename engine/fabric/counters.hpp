// What the fabric did to frames, counted exactly.
#pragma once

#include <cstdint>

namespace sonde {

// One direction of a link. frames = lost + those that arrived - duplicated, once none is under way.
struct LineCounters {
    std::uint64_t frames = 0; // that went on the line
    std::uint64_t bytes = 0;  // of frames, as hosts count them
    std::uint64_t lost_random = 0;
    std::uint64_t lost_burst = 0;
    std::uint64_t lost_every = 0;
    std::uint64_t lost_bit_error = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held_back = 0;
    std::uint64_t arrived = 0;
    std::uint64_t arrived_bytes = 0;
    std::uint64_t oversize = 0; // longer than the line takes; never went on it
};

// One port of a switch. Drops for want of room are counted where the buffer is: at the input, where
// that has it, else at the output.
struct PortCounters {
    std::uint64_t received = 0;
    std::uint64_t malformed = 0;
    std::uint64_t filtered = 0; // to a station behind the port that it came by
    std::uint64_t flooded = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t dropped = 0;
    std::uint64_t dropped_bytes = 0;
    std::uint64_t pauses = 0;      // asked for
    std::int64_t most_packets = 0; // that its buffer held at once
    std::int64_t most_bytes = 0;
};

} // namespace sonde
