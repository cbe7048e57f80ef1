// How messages are made to come once and in order.
#pragma once

#include <cstdint>

#include "protocol/go_back_n.hpp"

namespace sonde {

constexpr std::uint32_t most_link_window = 4096;
// Looks at frames that have not come, to one reading of the clock.
constexpr unsigned looks_a_reading = 64;

struct ChannelRules {
    protocol::SendRules sends; // times in ns
    protocol::AnswerRules answers;
};

} // namespace sonde
