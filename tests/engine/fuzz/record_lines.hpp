// What must hold of the lines that a worker writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fuzz/choices.hpp"

namespace sonde::fuzz {

[[nodiscard]] inline std::vector<nlohmann::json> read_records(const std::string& text) {
    constexpr std::size_t longest_line = 1U << 20U;
    std::vector<nlohmann::json> records;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = text.find('\n', begin);
        require_that(end != std::string::npos, "the last record has no end");
        require_that(end - begin <= longest_line, "a record is longer than readers take");
        records.push_back(nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                                text.begin() + static_cast<std::ptrdiff_t>(end),
                                                nullptr, false));
        require_that(records.back().is_object() && records.back().contains("record"),
                     "what is written is no record");
        begin = end + 1;
    }
    return records;
}

} // namespace sonde::fuzz
