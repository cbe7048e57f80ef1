// The fabric's own time, and how long a frame takes on a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sonde {

// Picoseconds since the fabric's start: a frame's time on a line of any usual rate is then whole.
using VirtualTime = std::int64_t;

constexpr VirtualTime never = std::numeric_limits<VirtualTime>::max();
constexpr VirtualTime time_per_ns = 1000;

[[nodiscard]] constexpr VirtualTime from_ns(std::int64_t ns) noexcept { return ns * time_per_ns; }
[[nodiscard]] constexpr std::int64_t to_ns(VirtualTime time) noexcept { return time / time_per_ns; }

// Frames are counted as a host sees them: from the first address to the last byte of the payload.
constexpr std::uint32_t least_frame_bytes = 60; // shorter ones are padded
// Preamble and start 8, check sequence 4, gap 12.
constexpr std::uint32_t line_extra_bytes = 24;

[[nodiscard]] constexpr std::int64_t line_bits(std::uint32_t frame_bytes) noexcept {
    return std::int64_t{std::max(frame_bytes, least_frame_bytes) + line_extra_bytes} * 8;
}

// bits stay below 2^23 (frames below 1 MiB), so the product fits.
[[nodiscard]] constexpr VirtualTime bits_time(std::int64_t bits,
                                              std::int64_t rate_bit_per_s) noexcept {
    return bits * 1'000'000'000'000 / rate_bit_per_s;
}

[[nodiscard]] constexpr VirtualTime line_time(std::uint32_t frame_bytes,
                                              std::int64_t rate_bit_per_s) noexcept {
    return bits_time(line_bits(frame_bytes), rate_bit_per_s);
}

} // namespace sonde
