// Chances: the same seed gives the same numbers with every compiler and library.
#pragma once

#include <cmath>
#include <cstdint>

namespace sonde::simulator {

class Random { // splitmix64: its whole state is one word, so each host can have its own
public:
    Random() = default;
    // Streams of one seed are independent of each other.
    Random(std::uint64_t seed, std::uint64_t stream)
        : state_(mix(mix(seed + golden) ^ mix(stream * golden + 1))) {}

    std::uint64_t bits() noexcept { return mix(state_ += golden); }
    double uniform() noexcept { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }
    bool happens(double ratio) noexcept { return ratio > 0.0 && uniform() < ratio; }
    double exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }
    // In [0, count), without bias that could be seen: count is far below 2^32.
    std::uint32_t below(std::uint32_t count) noexcept {
        return static_cast<std::uint32_t>((bits() >> 32U) * count >> 32U);
    }

private:
    static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;

    static std::uint64_t mix(std::uint64_t value) noexcept {
        value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9U;
        value = (value ^ value >> 27U) * 0x94D049BB133111EBU;
        return value ^ value >> 31U;
    }

    std::uint64_t state_ = golden;
};

} // namespace sonde::simulator
