// Which CPUs of this host belong together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The CPUs of each package (socket) and of each NUMA node, by its number.
using ProcessorGroups = std::map<int, std::vector<int>>;

[[nodiscard]] ProcessorGroups packages(const std::string& folder = "/sys/devices/system/cpu/");
[[nodiscard]] ProcessorGroups numa_nodes(const std::string& folder = "/sys/devices/system/node/");

// "0-3,8" as the kernel writes lists of CPUs; what is no such list is none.
[[nodiscard]] std::vector<int> read_processors(std::string_view text);

// "0:0-3 1:4-7".
[[nodiscard]] std::string in_words(const ProcessorGroups& groups);

} // namespace sonde
