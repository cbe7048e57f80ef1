// A host claimed for one measurement at a time, as requests.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "core/exclusion.hpp"
#include "core/request.hpp"

namespace sonde {

// `claim`: whether the host is ours, else who has it; `beside` measures all the same.
[[nodiscard]] nlohmann::json answer_claim(Request& request, std::unique_ptr<Exclusion>& claimed);
// `release`: who measured beside us.
[[nodiscard]] nlohmann::json answer_release(Request& request, std::unique_ptr<Exclusion>& claimed);

} // namespace sonde
