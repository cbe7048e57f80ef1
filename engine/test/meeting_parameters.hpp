// How the targets of many flows agree on the start of each round.
#pragma once

#include <cstdint>
#include <string>

namespace sonde {

// Targets on one host that wait for each other between the rounds of a run.
struct MeetingParameters {
    std::string name; // equal at all of them and known to nobody else; empty: they do not meet
    int members = 0;
    bool leads = false;       // one does, and decides:
    std::int64_t lead_ns = 0; // from the last arrival at any of them to the next start
    std::int64_t most_ns = 0; // no round begins later than so long after the end of the first
};

} // namespace sonde
