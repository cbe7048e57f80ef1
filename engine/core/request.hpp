// One request line, read field by field. What is not asked for is refused.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// A JSON object whose every field must be taken exactly by name; see finish().
class Fields {
public:
    explicit Fields(nlohmann::json object, std::string context = "request");

    [[nodiscard]] bool has(std::string_view name) const;
    // Each throws Failure("bad_request") naming the field, what it holds and what is allowed.
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
    std::optional<std::int64_t> optional_integer(std::string_view name, std::int64_t least,
                                                 std::int64_t most);
    std::string text(std::string_view name, std::size_t most_characters = 256);
    std::optional<std::string> optional_text(std::string_view name,
                                             std::size_t most_characters = 256);
    bool flag(std::string_view name, bool otherwise);
    std::optional<bool> optional_flag(std::string_view name);
    double number(std::string_view name, double least, double most, double otherwise);
    // The elements of an array of at most so many; none where the field is missing.
    std::vector<nlohmann::json> list(std::string_view name, std::size_t most);
    // The nested object, or an empty one.
    Fields object(std::string_view name);
    // Refuses fields that nobody took.
    void finish() const;

private:
    const nlohmann::json* find(std::string_view name);

    nlohmann::json object_;
    std::string context_;
    std::set<std::string, std::less<>> taken_;
};

// The field timeout_ns, from 1 ms to a day.
[[nodiscard]] std::int64_t take_timeout(Fields& fields);

struct Request {
    std::int64_t id = 0;
    std::string verb;
    Fields fields;
    std::string line; // as it came: MPI's rank 0 passes it on to the other ranks
};

// Throws Failure("bad_request"); id_seen is set as soon as the id is known.
[[nodiscard]] Request parse_request(std::string_view line, std::int64_t& id_seen);

constexpr std::size_t request_line_limit_bytes = 65536;

} // namespace sonde
