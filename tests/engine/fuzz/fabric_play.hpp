// Plays whatever bytes say on a fabric: a small tree of switches, frames of any kind at any time,
// and changes meanwhile. What must hold of every fabric is checked, whatever the bytes were.
#pragma once

#include <cstdint>
#include <span>

namespace sonde {

// Throws std::logic_error naming what did not hold.
void play_fabric(std::span<const std::uint8_t> bytes);

} // namespace sonde
