// A name as a number that ranks can compare.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde::mpi {

// 62 bits of the name's FNV-1a hash: records hold signed 64-bit integers.
[[nodiscard]] inline std::int64_t number_of(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return static_cast<std::int64_t>(hash >> 2U);
}

} // namespace sonde::mpi
