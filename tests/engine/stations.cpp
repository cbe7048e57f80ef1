// The table of stations: what it knows, what it forgets, and that a flood of addresses is harmless.
#include "fabric/stations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

using namespace sonde;

TEST_SUITE_BEGIN("stations");

namespace {

constexpr VirtualTime second = from_ns(1'000'000'000);

} // namespace

TEST_CASE("a station is known for five minutes, and where it was heard last") {
    Stations stations;
    CHECK(!stations.find(0x020000000001, 0));
    stations.learn(0x020000000001, 3, 0);
    CHECK(stations.find(0x020000000001, 300 * second) == 3);
    CHECK(!stations.find(0x020000000001, 300 * second + 1));
    stations.learn(0x020000000001, 4, 200 * second);
    CHECK(stations.find(0x020000000001, 500 * second) == 4);
    CHECK(stations.forgotten() == 0);
}

TEST_CASE("made-up addresses drive out others, but not the station just heard") {
    constexpr std::size_t addresses = 100'000;
    constexpr std::size_t most_known = 4096;
    std::mt19937_64 random(11);
    for (const bool in_sequence : {true, false}) {
        Stations stations;
        std::vector<StationAddress> heard;
        std::size_t lost_at_once = 0;
        for (std::size_t k = 0; k < addresses; ++k) {
            heard.push_back(in_sequence ? 0x020000000000 + k : (random() >> 16U & ~(1ULL << 40U)));
            const auto now = static_cast<VirtualTime>(k);
            stations.learn(heard.back(), static_cast<std::uint16_t>(k % 128), now);
            lost_at_once += stations.find(heard.back(), now) == k % 128 ? 0U : 1U;
        }
        CHECK(lost_at_once == 0);
        std::size_t known = 0;
        for (const StationAddress station : heard) {
            known += stations.find(station, addresses) ? 1U : 0U;
        }
        CHECK(known <= most_known);
        CHECK(known > most_known / 2);
        CHECK(known + stations.forgotten() == addresses);
    }
}

TEST_CASE("a frame without a whole header or from no single station has no way") {
    std::array<std::byte, 60> frame{};
    CHECK(!read_header(frame)); // from nobody
    frame[6] = std::byte{2};
    frame[11] = std::byte{7};
    frame[0] = std::byte{0xff};
    const auto header = read_header(frame);
    REQUIRE(header);
    CHECK(header->source == 0x020000000007);
    CHECK(header->destination == 0xff0000000000);
    CHECK(is_group(header->destination));
    CHECK(!is_group(header->source));
    CHECK(read_header(std::span(frame).first(14)));
    CHECK(!read_header(std::span(frame).first(13)));
    CHECK(!read_header({}));
    frame[6] = std::byte{3};
    CHECK(!read_header(frame)); // from a group
}

TEST_SUITE_END();
