#include "counters/words.hpp"

#include <charconv>
#include <utility>

namespace sonde {

Words split(std::string_view line) {
    Words words;
    std::size_t position = 0;
    while (true) {
        position = line.find_first_not_of(" \t", position);
        if (position == std::string_view::npos) {
            return words;
        }
        const std::size_t end = std::min(line.find_first_of(" \t", position), line.size());
        words.push_back(line.substr(position, end - position));
        position = end;
    }
}

std::optional<std::int64_t> number(std::string_view word, int base) {
    const auto* const end = word.data() + word.size();
    std::int64_t value = 0;
    if (const auto [stop, error] = std::from_chars(word.data(), end, value, base);
        error == std::errc{} && stop == end) {
        return value;
    }
    std::uint64_t large = 0;
    const auto [stop, error] = std::from_chars(word.data(), end, large, base);
    if (error != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(large);
}

void add(CounterValues& values, std::string name, std::string_view word) {
    if (const auto value = number(word)) {
        values[std::move(name)] = *value;
    }
}

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string name;
    for (const auto part : parts) {
        name.append(part);
    }
    return name;
}

} // namespace sonde
