// What `sonde-sim schedule` answers: which algorithms there are, their steps, their proofs.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "core/request.hpp"

namespace sonde {

using SayJson = std::function<void(const nlohmann::ordered_json&)>;

// Takes a request with the verb list, show or check, and says a JSON object a line.
// Throws Failure("bad_request").
void answer_schedule_request(Fields fields, const SayJson& say);

} // namespace sonde
