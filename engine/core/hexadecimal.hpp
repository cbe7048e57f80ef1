// Bytes that a request holds as text.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace sonde {

// False unless text is just the digits, 0-9 and a-f, of all of the bytes.
[[nodiscard]] inline bool read_hexadecimal(std::string_view text,
                                           std::span<std::byte> bytes) noexcept {
    constexpr std::string_view digits = "0123456789abcdef";
    if (text.size() != 2 * bytes.size()) {
        return false;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::size_t high = digits.find(text[2 * i]);
        const std::size_t low = digits.find(text[2 * i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            return false;
        }
        bytes[i] = static_cast<std::byte>(high << 4U | low);
    }
    return true;
}

} // namespace sonde
