// A JSON object from text that somebody else wrote, with limits on its size and depth.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sonde {

constexpr int most_json_depth = 16;

// Whether brackets are open deeper than that. What is said of a wrong value shows it, which goes as
// deep as the value.
[[nodiscard]] bool is_nested_too_deep(std::string_view text);

// `what` names the text in what is said of it. Throws Failure("bad_request") where the text is no
// JSON object or nests more than most_json_depth deep.
[[nodiscard]] nlohmann::json parse_json_object(const std::string& text, const std::string& what);

} // namespace sonde
