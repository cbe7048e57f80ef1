// The network interface that frames go by.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "transport/link/frame.hpp"

namespace sonde {

struct LinkDevice {
    std::string name;
    int index = 0;
    MacAddress address{};
    std::size_t mtu_bytes = 0; // of what is behind Ethernet's header

    // Throws Failure("unsupported") where there is no such interface or it carries no Ethernet.
    [[nodiscard]] static LinkDevice of(const std::string& name);

    // What a frame carries behind our header, at most.
    [[nodiscard]] std::size_t room_bytes() const noexcept {
        return mtu_bytes > link_header_bytes ? mtu_bytes - link_header_bytes : 0;
    }
};

// What fragments carry by this interface: as asked, else what a usual frame does. Throws
// Failure("bad_request") where that is more than fits.
[[nodiscard]] std::size_t fragment_bytes_on(const LinkDevice& device,
                                            std::optional<std::size_t> asked);

// A network that hosts have addresses of, and the interface here that it is at.
struct LinkNetwork {
    std::array<std::byte, 16> prefix{}; // an address of it, without the host's own bits
    std::array<std::byte, 16> mask{};
    std::string interface;
};

// Of all interfaces that are up, but loopback; none of a link's own addresses.
[[nodiscard]] std::vector<LinkNetwork> networks_here();

} // namespace sonde
