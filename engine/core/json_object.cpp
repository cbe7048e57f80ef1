#include "core/json_object.hpp"

#include <algorithm>

#include "core/failure.hpp"

namespace sonde {

namespace {

// Brackets that are open at once, outside of strings.
int depth_of(std::string_view text) {
    int depth = 0, most = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            i += c == '\\' ? 1U : 0U; // what follows is no end of the string
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            most = std::max(most, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return most;
}

} // namespace

bool is_nested_too_deep(std::string_view text) { return depth_of(text) > most_json_depth; }

nlohmann::json parse_json_object(const std::string& text, const std::string& what) {
    if (is_nested_too_deep(text)) {
        throw Failure("bad_request", what + ": the JSON is nested more than " +
                                         std::to_string(most_json_depth) + " deep");
    }
    nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
    if (!parsed.is_object()) {
        throw Failure("bad_request", what + ": standard input is not a JSON object");
    }
    return parsed;
}

} // namespace sonde
