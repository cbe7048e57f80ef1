// The verbs of a running switch.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/control.hpp"
#include "emulator/switch_loop.hpp"

namespace sonde {

// stats, set, gate, calibrate, carrier, capture. networks: the namespace of each host. The loop
// must outlive the handlers.
[[nodiscard]] std::map<std::string, ControlHandler> switch_verbs(SwitchLoop& loop,
                                                                 std::vector<Descriptor> networks);

} // namespace sonde
