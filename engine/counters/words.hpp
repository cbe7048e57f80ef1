// Lines, words and numbers of the kernel's counter files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parse.hpp"

namespace sonde {

using Words = std::vector<std::string_view>;

// Words between spaces and tabs.
[[nodiscard]] Words split(std::string_view line);

// Counters of 64 bits without sign wrap into the sign here; a difference of two stays right.
[[nodiscard]] std::optional<std::int64_t> number(std::string_view word, int base = 10);

// The sum of two such counters, which wraps as they do.
[[nodiscard]] constexpr std::int64_t sum_of(std::int64_t one, std::int64_t other) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) +
                                     static_cast<std::uint64_t>(other));
}

// Adds the number that a word is, if it is one.
void add(CounterValues& values, std::string name, std::string_view word);

[[nodiscard]] std::string joined(std::initializer_list<std::string_view> parts);

template <class Body>
void for_each_line(std::string_view text, Body body) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        body(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

} // namespace sonde
