// What routes set for TCP beside the system's settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sonde {

// The least retransmission time-out (`ip route ... rto_min`) that any route sets, ms; empty where
// none does, or the kernel does not tell.
[[nodiscard]] std::optional<std::uint32_t> least_route_rto_min_ms();

// The same of one RTM_NEWROUTE message after its netlink header.
[[nodiscard]] std::optional<std::uint32_t> rto_min_of_route(std::span<const std::byte> message);

} // namespace sonde
