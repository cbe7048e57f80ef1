// What could change a result on this host, by the flat names of docs/reference/records.md.
#pragma once

#include <nlohmann/json.hpp>

namespace sonde {

// What cannot be read is left out. Secrets among the settings (keys) are never read.
[[nodiscard]] nlohmann::json host_facts();

} // namespace sonde
