// A JSON object from text that somebody else wrote, with limits on its size and depth.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace sonde {

constexpr int most_json_depth = 16;

// `what` names the text in what is said of it. Throws Failure("bad_request") where the text is no
// JSON object or nests more than most_json_depth deep.
[[nodiscard]] nlohmann::json parse_json_object(const std::string& text, const std::string& what);

} // namespace sonde
