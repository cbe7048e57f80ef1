// What the kernel says of a CPU's caches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sonde {

struct DataCache {
    std::string level; // "1", "2", ...
    bool holds_data_only;
    std::size_t bytes;
};

// The caches that hold data, the nearest first; none where the kernel does not tell. `folder` has
// one folder index0, index1, ... for each.
[[nodiscard]] std::vector<DataCache>
data_caches(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache/");

// The largest of them, 0 where none is known.
[[nodiscard]] std::size_t last_level_cache_bytes(const std::vector<DataCache>& caches);

} // namespace sonde
