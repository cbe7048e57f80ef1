// The kernel's counter files as flat names and integers; see docs/reference/records.md.
// Pure functions over the files' text; a line that is not understood is left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sonde {

using CounterValues = std::map<std::string, std::int64_t>;

void parse_stat(std::string_view text, CounterValues& values);       // /proc/stat
void parse_interrupts(std::string_view text, CounterValues& values); // /proc/interrupts
void parse_softirqs(std::string_view text, CounterValues& values);   // /proc/softirqs
void parse_interfaces(std::string_view text, CounterValues& values); // /proc/net/dev
// /proc/net/snmp and /proc/net/netstat: a line of names, a line of values; prefix e.g. "snmp".
void parse_protocols(std::string_view text, std::string_view prefix, CounterValues& values);
void parse_snmp6(std::string_view text, CounterValues& values);   // /proc/net/snmp6
void parse_softnet(std::string_view text, CounterValues& values); // /proc/net/softnet_stat
void parse_memory(std::string_view text, CounterValues& values);  // /proc/meminfo
void parse_paging(std::string_view text, CounterValues& values);  // /proc/vmstat
void parse_load(std::string_view text, CounterValues& values);    // /proc/loadavg
// A file that holds one number, of so many units, as many in /sys do.
void parse_number(std::string_view text, std::int64_t unit, std::string name,
                  CounterValues& values);

} // namespace sonde
