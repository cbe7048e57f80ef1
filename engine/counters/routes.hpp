// What routes set for TCP beside the system's settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sonde {

// Empty where no route sets it, or the kernel does not tell.
struct RouteSettings {
    std::optional<std::uint32_t> rto_min_ms;   // least retransmission time-out (`rto_min`)
    std::optional<std::uint32_t> window_bytes; // largest window to offer (`window`)
};

// The least of each that any route sets.
[[nodiscard]] RouteSettings least_route_settings();

// What one RTM_NEWROUTE message, after its netlink header, sets.
[[nodiscard]] RouteSettings settings_of_route(std::span<const std::byte> message);

} // namespace sonde
