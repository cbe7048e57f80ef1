// What frames take of a switch's buffer: the same for the switch that is played and for the one
// that is simulated.
#pragma once

#include <cstdint>

namespace sonde {

// What a port has of the switch's common memory: only what its own part does not hold.
[[nodiscard]] constexpr std::int64_t beyond_reserve(std::int64_t held,
                                                    std::int64_t reserve) noexcept {
    return held > reserve ? held - reserve : 0;
}

} // namespace sonde
