// What this host's kernel offers to a process like this one, found out by asking for it.
#pragma once

#include <nlohmann/json.hpp>

#include "core/request.hpp"

namespace sonde {

// `offers`: by name, an empty text where it can be had, else why not.
[[nodiscard]] nlohmann::json answer_offers(Request& request);

} // namespace sonde
