// Gives whatever text comes to what reads scenarios and schedule requests, and plays what is
// accepted and small. What must hold of every text is checked, whatever it was.
#pragma once

#include <string>

namespace sonde {

// The text is accepted, or refused with a sentence that a person can read. Throws std::logic_error
// naming what did not hold. "accepted", or the sentence.
std::string play_scenario(const std::string& text);

} // namespace sonde
