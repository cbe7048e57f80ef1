// The fabric under arbitrary frames and changes; fuzz/ has the same with a fuzzer behind it.
#include "fuzz/fabric_play.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

using namespace sonde;

TEST_SUITE_BEGIN("fabric_play");

TEST_CASE("whatever is played on a fabric, every frame is accounted for") {
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::uint8_t> bytes(random() % 1500);
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(random());
        }
        INFO("seed ", seed);
        CHECK_NOTHROW(play_fabric(bytes));
    }
}

TEST_SUITE_END();
