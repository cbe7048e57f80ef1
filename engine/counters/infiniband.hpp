// Counters of fabric ports, which need not carry IP: InfiniBand, Omni-Path, RoCE.
#pragma once

#include <filesystem>

#include "counters/parse.hpp"

namespace sonde {

// Adds infiniband.DEVICE.PORT.{tx_bytes,rx_bytes,tx_packets,rx_packets} and the kernel's own names
// of what went wrong at the port. `sysfs` is where /sys is; a host without such ports adds nothing.
void add_infiniband(const std::filesystem::path& sysfs, CounterValues& values);

} // namespace sonde
