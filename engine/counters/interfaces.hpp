// What the host's network interfaces are.
#pragma once

#include <nlohmann/json.hpp>

namespace sonde {

// Adds interface.DEV.{mtu,mac,driver,speed_mbit,queue_length,address.N,gso,tso,gro}.
void add_interfaces(nlohmann::json& facts);

} // namespace sonde
