// What TCP keeps of a flow beside what every transport does.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/virtual_time.hpp"
#include "simulator/packet.hpp"

namespace sonde::simulator {

struct TcpState {
    // The sender, in packets.
    double window = 0.0; // congestion window
    double threshold = 1e18;
    std::uint32_t duplicates = 0;  // acknowledgements that said nothing new
    std::uint32_t recover = 0;     // recovery ends when all before this are acknowledged
    bool recovering = false;
    VirtualTime smoothed = 0; // round trip
    VirtualTime variation = 0;
    VirtualTime timeout = 0;
    VirtualTime deadline = never; // of the one timer
    std::uint32_t backoff = 0;
    // Messages that wait: numbers of Message.
    std::uint32_t first_message = none;
    std::uint32_t last_message = none;
    bool ready = false; // it stands in its host's queue
    // The receiver: packets beyond the one that is expected, by number modulo a power of two.
    std::vector<std::uint32_t> beyond; // packets, none where there is none
};

} // namespace sonde::simulator
