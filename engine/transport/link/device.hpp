// The network interface that frames go by.
#pragma once

#include <cstddef>
#include <string>

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

} // namespace sonde
