#include "transport/socket/greeting.hpp"

#include <algorithm>
#include <cstring>

#include "core/failure.hpp"

namespace sonde {
namespace {

struct Wire {
    std::array<char, 8> magic{'n', 'e', 't', 's', 'o', 'n', 'd', 'e'};
    std::uint16_t version = 1;
    std::uint16_t purpose = 0;
    std::uint32_t unused = 0;
    Cookie cookie{};
};
static_assert(sizeof(Wire) == greeting_bytes);

int digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

Cookie parse_cookie(const std::string& text) {
    Cookie cookie{};
    const bool good = text.size() == 2 * cookie.size() &&
                      std::ranges::all_of(text, [](char c) { return digit(c) >= 0; });
    if (!good) {
        throw Failure("bad_request", "request: cookie must be 32 hexadecimal digits, 0-9 and a-f");
    }
    for (std::size_t i = 0; i < cookie.size(); ++i) {
        cookie[i] = static_cast<std::byte>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
    }
    return cookie;
}

Greeting make_greeting(Purpose purpose, const Cookie& cookie) {
    Wire wire;
    wire.purpose = static_cast<std::uint16_t>(purpose);
    wire.cookie = cookie;
    Greeting greeting;
    std::memcpy(greeting.data(), &wire, sizeof wire);
    return greeting;
}

std::optional<Purpose> read_greeting(std::span<const std::byte> bytes, const Cookie& cookie) {
    if (bytes.size() != greeting_bytes) {
        return std::nullopt;
    }
    for (const Purpose purpose : {Purpose::control, Purpose::test, Purpose::welcome}) {
        const Greeting expected = make_greeting(purpose, cookie);
        std::byte difference{0};
        for (std::size_t i = 0; i < greeting_bytes; ++i) {
            difference |= bytes[i] ^ expected[i];
        }
        if (difference == std::byte{0}) {
            return purpose;
        }
    }
    return std::nullopt;
}

} // namespace sonde
