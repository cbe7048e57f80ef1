// What a line does to a frame besides carrying it: loss, duplication, delay beyond its own.
#pragma once

#include <cstdint>
#include <random>

#include "fabric/topology.hpp"
#include "fabric/virtual_time.hpp"

namespace sonde {

enum class Loss : std::uint8_t { none, random, burst, every, bit_error };

struct Fate {
    Loss loss = Loss::none;
    bool duplicated = false;
    bool held_back = false;      // so that later frames overtake it
    VirtualTime extra_delay = 0; // jitter, or how long it is held back
};

// One line's chances, drawn frame by frame: the same seed and the same frames have the same fates.
class Impairer {
public:
    explicit Impairer(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] Fate judge(const LinePlan& line, std::uint32_t frame_bytes);

private:
    [[nodiscard]] double uniform() noexcept; // in [0, 1)
    [[nodiscard]] bool happens(double ratio) noexcept { return ratio > 0.0 && uniform() < ratio; }
    [[nodiscard]] Loss lose(const LinePlan& line, std::uint32_t frame_bytes);
    [[nodiscard]] VirtualTime jitter(const Jitter& jitter);

    std::mt19937_64 random_;
    std::int64_t frames_ = 0;
    bool bad_state_ = false;
};

} // namespace sonde
