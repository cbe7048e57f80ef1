// How the two ends of a link find each other: over the control connection they say where their
// frames are to go, and then make sure that frames get there.
#pragma once

#include <cstdint>

#include "transport/link/numbers.hpp"
#include "transport/link/port.hpp"
#include "transport/socket/control.hpp"
#include "transport/socket/waiting.hpp"

namespace sonde {

struct LinkCard {
    LinkPartner partner;
    std::size_t fragment_bytes = 0;
};

// Says one card and hears the other end's. Throws Failure("peer_lost").
[[nodiscard]] LinkCard exchange_cards(SocketControl& control, const LinkCard& own,
                                      const Deadline& deadline);

// Returns when frames have come both ways. Throws Failure("timeout") where they do not.
void greet(LinkPort& port, SocketControl& control, const Deadline& deadline);

} // namespace sonde
