#include "fabric/stations.hpp"

#include <algorithm>

namespace sonde {

namespace {

StationAddress read_address(std::span<const std::byte> bytes) noexcept {
    StationAddress address = 0;
    for (const std::byte byte : bytes.first(address_bytes)) {
        address = address << 8U | std::to_integer<StationAddress>(byte);
    }
    return address;
}

} // namespace

std::optional<FrameHeader> read_header(std::span<const std::byte> frame) noexcept {
    if (frame.size() < frame_header_bytes) {
        return std::nullopt;
    }
    const FrameHeader header{read_address(frame), read_address(frame.subspan(address_bytes))};
    if (is_group(header.source) || header.source == 0) {
        return std::nullopt;
    }
    return header;
}

Stations::Stations() : table_(rows) {}

std::size_t Stations::row_of(StationAddress station) noexcept {
    return static_cast<std::size_t>(station * 0x9E3779B97F4A7C15U >> 40U) % rows;
}

void Stations::learn(StationAddress station, std::uint16_t port, VirtualTime now) noexcept {
    Row& row = table_[row_of(station)];
    auto* place = std::find_if(row.begin(), row.end(),
                               [&](const Entry& entry) { return entry.station == station; });
    if (place == row.end()) {
        place = std::min_element(row.begin(), row.end(), [](const Entry& a, const Entry& b) {
            return (a.station == 0 ? -1 : a.heard) < (b.station == 0 ? -1 : b.heard);
        });
        forgotten_ += place->station != 0 ? 1U : 0U;
    }
    *place = {station, now, port};
}

std::optional<std::uint16_t> Stations::find(StationAddress station,
                                            VirtualTime now) const noexcept {
    for (const Entry& entry : table_[row_of(station)]) {
        if (entry.station == station && now - entry.heard <= lifetime) {
            return entry.port;
        }
    }
    return std::nullopt;
}

} // namespace sonde
