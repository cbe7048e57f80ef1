// What the tracer reads on top of a snapshot: by CPU, and of memory, pressure and nodes.
// Pure functions over the files' text; a line that is not understood is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "counters/parse.hpp"

namespace sonde {

// /proc/stat: how many processes run or wait for a device.
void parse_running(std::string_view text, CounterValues& values);
// /proc/softirqs: softirq_cpu.N.KIND, those that are not zero.
void parse_softirqs_by_cpu(std::string_view text, CounterValues& values);
// /proc/net/softnet_stat: softnet_cpu.N.{processed,dropped,squeezed}.
void parse_softnet_by_cpu(std::string_view text, CounterValues& values);
// /proc/meminfo: free, cached and dirty memory.
void parse_memory_uses(std::string_view text, CounterValues& values);
// /proc/vmstat: page faults, kills for lack of memory, and where pages lie (numa.*).
void parse_placement(std::string_view text, CounterValues& values);
// /proc/pressure/RESOURCE: pressure.RESOURCE.{some,full}_us.
void parse_pressure(std::string_view text, std::string_view resource, CounterValues& values);
// "8.0 GT/s PCIe" as millions of transfers per second; none where it is no such text.
[[nodiscard]] std::optional<std::int64_t> parse_link_speed(std::string_view text);

} // namespace sonde
