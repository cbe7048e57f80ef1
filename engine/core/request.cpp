#include "core/request.hpp"

#include <cmath>
#include <utility>

#include "core/failure.hpp"
#include "core/json_object.hpp"

namespace sonde {

using nlohmann::json;

Fields::Fields(json object, std::string context)
    : object_(std::move(object)), context_(std::move(context)) {
    if (!object_.is_object()) {
        throw Failure("bad_request", context_ + ": expected a JSON object, got " + object_.dump());
    }
}

bool Fields::has(std::string_view name) const { return object_.contains(name); }

const json* Fields::find(std::string_view name) {
    taken_.emplace(name);
    const auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
}

std::optional<std::int64_t> Fields::optional_integer(std::string_view name, std::int64_t least,
                                                     std::int64_t most) {
    const json* value = find(name);
    if (value == nullptr) {
        return std::nullopt;
    }
    const bool representable =
        value->is_number_integer() &&
        !(value->is_number_unsigned() &&
          value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
    if (!representable || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
        throw Failure("bad_request", context_ + ": " + std::string(name) + " is " + value->dump() +
                                         ", expected an integer from " + std::to_string(least) +
                                         " to " + std::to_string(most));
    }
    return value->get<std::int64_t>();
}

std::int64_t Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const auto value = optional_integer(name, least, most);
    if (!value) {
        throw Failure("bad_request", context_ + ": " + std::string(name) + " is missing");
    }
    return *value;
}

std::optional<std::string> Fields::optional_text(std::string_view name,
                                                 std::size_t most_characters) {
    const json* value = find(name);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_string() || value->get_ref<const std::string&>().size() > most_characters) {
        throw Failure("bad_request", context_ + ": " + std::string(name) +
                                         " must be a string of at most " +
                                         std::to_string(most_characters) + " characters");
    }
    return value->get<std::string>();
}

std::string Fields::text(std::string_view name, std::size_t most_characters) {
    auto value = optional_text(name, most_characters);
    if (!value) {
        throw Failure("bad_request", context_ + ": " + std::string(name) + " is missing");
    }
    return *std::move(value);
}

std::optional<bool> Fields::optional_flag(std::string_view name) {
    const json* value = find(name);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_boolean()) {
        throw Failure("bad_request",
                      context_ + ": " + std::string(name) + " must be true or false");
    }
    return value->get<bool>();
}

bool Fields::flag(std::string_view name, bool otherwise) {
    return optional_flag(name).value_or(otherwise);
}

double Fields::number(std::string_view name, double least, double most, double otherwise) {
    const json* value = find(name);
    if (value == nullptr) {
        return otherwise;
    }
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (!(number >= least && number <= most)) { // NaN is neither
        throw Failure("bad_request", context_ + ": " + std::string(name) + " is " + value->dump() +
                                         ", expected a number from " + json(least).dump() + " to " +
                                         json(most).dump());
    }
    return number;
}

std::vector<json> Fields::list(std::string_view name, std::size_t most) {
    const json* value = find(name);
    if (value == nullptr) {
        return {};
    }
    if (!value->is_array() || value->size() > most) {
        throw Failure("bad_request", context_ + ": " + std::string(name) +
                                         " must be an array of at most " + std::to_string(most));
    }
    return value->get<std::vector<json>>();
}

Fields Fields::object(std::string_view name) {
    const json* value = find(name);
    return Fields(value == nullptr ? json::object() : *value, context_ + "." + std::string(name));
}

void Fields::finish() const {
    for (const auto& [name, value] : object_.items()) {
        if (!taken_.contains(name)) {
            throw Failure("bad_request", context_ + ": unknown field " + name);
        }
    }
}

std::int64_t take_timeout(Fields& fields) {
    constexpr std::int64_t least_ns = 1'000'000;
    constexpr std::int64_t most_ns = 86'400'000'000'000;
    return fields.integer("timeout_ns", least_ns, most_ns);
}

Request parse_request(std::string_view line, std::int64_t& id_seen) {
    constexpr std::int64_t largest_exact_integer = 9007199254740991;
    if (is_nested_too_deep(line)) {
        throw Failure("bad_request", "request: the JSON is nested more than " +
                                         std::to_string(most_json_depth) + " deep");
    }
    json parsed = json::parse(line, nullptr, false);
    if (parsed.is_discarded()) {
        throw Failure("bad_request",
                      "request: not a JSON object: " + std::string(line.substr(0, 80)));
    }
    Fields fields(std::move(parsed));
    const std::int64_t id = fields.integer("request", 1, largest_exact_integer);
    id_seen = id;
    std::string verb = fields.text("verb", 32);
    return {id, std::move(verb), std::move(fields), std::string(line)};
}

} // namespace sonde
