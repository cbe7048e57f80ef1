// Which station is behind which port of a switch: learned from the frames that come by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/virtual_time.hpp"

namespace sonde {

constexpr std::size_t address_bytes = 6;
constexpr std::size_t frame_header_bytes = 14; // two addresses and a type

using StationAddress = std::uint64_t; // 48 bits

[[nodiscard]] constexpr bool is_group(StationAddress address) noexcept {
    return (address >> 40U & 1U) != 0; // the first bit on the wire
}

struct FrameHeader {
    StationAddress destination = 0;
    StationAddress source = 0;
};

// Nothing where the frame is too short or comes from a group: a switch drops both.
[[nodiscard]] std::optional<FrameHeader> read_header(std::span<const std::byte> frame) noexcept;

// A table of fixed size. A full row forgets its oldest station, whose frames are then flooded until
// it is heard again: a flood of made-up addresses slows the fabric, it does not stop it.
class Stations {
public:
    Stations();

    void learn(StationAddress station, std::uint16_t port, VirtualTime now) noexcept;
    [[nodiscard]] std::optional<std::uint16_t> find(StationAddress station,
                                                    VirtualTime now) const noexcept;
    [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

private:
    struct Entry {
        StationAddress station = 0; // 0: none
        VirtualTime heard = 0;
        std::uint16_t port = 0;
    };
    static constexpr std::size_t row_entries = 4;
    static constexpr std::size_t rows = 1024;
    static constexpr VirtualTime lifetime = from_ns(300'000'000'000);
    using Row = std::array<Entry, row_entries>;

    [[nodiscard]] static std::size_t row_of(StationAddress station) noexcept;

    std::vector<Row> table_;
    std::uint64_t forgotten_ = 0;
};

} // namespace sonde
