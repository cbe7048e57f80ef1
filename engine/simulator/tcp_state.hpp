// What TCP keeps of a flow.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/virtual_time.hpp"
#include "simulator/packet.hpp"

namespace sonde::simulator {

// A packet that was sent and not acknowledged.
struct Slot {
    VirtualTime sent = 0;
    std::uint32_t payload_bytes = 0;
    bool resend = false; // it was sent again in this repair
    bool last = false;   // of its message
    bool held = false;   // the receiver has it, beyond what it expects
    bool again = false;  // it was sent more than once
};

struct TcpState {
    // The sender, in packets.
    std::uint32_t base = 0;  // the first that is not acknowledged
    std::vector<Slot> slots; // of packets from base on, by their number modulo a power of two
    bool timer_set = false;
    double window = 0.0; // congestion window
    double threshold = 1e18;
    std::uint32_t duplicates = 0;   // acknowledgements in a row that said nothing new
    std::uint32_t recover = 0;      // repair ends when all before this are acknowledged
    std::uint32_t highest_held = 0; // end of what the receiver is known to hold beyond
    bool repairing = false;
    bool by_timeout = false;  // then all that was not sent again is taken for lost
    bool at_once = false;     // the first packet of a repair does not wait for the window
    VirtualTime smoothed = 0; // round trip; 0: none was seen
    VirtualTime variation = 0;
    VirtualTime timeout = 0;
    VirtualTime deadline = never; // of the one timer
    // Messages that wait to be sent.
    std::uint32_t first_message = none;
    std::uint32_t last_message = none;
    bool ready = false; // it stands in its host's queue
    bool held = false;  // its host's window has no room
    // The receiver: packets beyond the one that it expects, by number modulo a power of two.
    std::uint32_t expected = 0;
    std::uint32_t unanswered = 0; // accepted
    bool answer_set = false;      // a late acknowledgement is due
    std::vector<std::uint32_t> beyond;
    std::uint32_t kept = 0; // of them

    [[nodiscard]] Slot& slot(std::uint32_t sequence) {
        return slots[sequence & (slots.size() - 1)];
    }
    [[nodiscard]] const Slot& slot(std::uint32_t sequence) const {
        return slots[sequence & (slots.size() - 1)];
    }
    // Room for another outstanding packet.
    Slot& add_slot(std::uint32_t sequence);
};

} // namespace sonde::simulator
