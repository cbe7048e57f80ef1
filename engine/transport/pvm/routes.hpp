// By which way messages to another task really go: through the daemons, or over a connection of
// their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde::pvm {

// A socket of the library.
struct RouteSocket {
    int fd = -1;
    bool is_local = false; // of the host's own, where both tasks are on one host
};

// The descriptors that the library has now, its daemon's first.
[[nodiscard]] std::vector<int> descriptors();
// The direct route of this task to its only partner; none where all goes through the daemons.
[[nodiscard]] std::optional<RouteSocket> direct_route();

// What the kernel's TCP says of a direct route between two hosts.
struct RouteTraffic {
    std::int64_t acknowledged_bytes = 0;
    std::int64_t received_bytes = 0;
};
[[nodiscard]] std::optional<RouteTraffic> traffic_of(const RouteSocket& route);

// The interface that has an address of this host; empty where none has.
[[nodiscard]] std::string interface_with(const std::string& address);

} // namespace sonde::pvm
