// The first bytes of every connection and of the datagram path: who it is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transport/socket/seal.hpp"

namespace sonde {

using Cookie = std::array<std::byte, 16>;

// Throws Failure("bad_request") unless text is 32 hexadecimal digits.
[[nodiscard]] Cookie parse_cookie(const std::string& text);

enum class Purpose : std::uint16_t { control = 1, test, welcome };

// Fixed size: magic, version, purpose, cookie.
constexpr std::size_t greeting_bytes = 32;
using Greeting = std::array<std::byte, greeting_bytes>;

// What lets an end in. Where there is a key, the cookie does not travel: its place has a tag of it.
struct Admission {
    Cookie cookie{};
    std::optional<SealKey> key = std::nullopt;
};

[[nodiscard]] Greeting make_greeting(Purpose purpose, const Admission& admission);
// The purpose, where these are exactly the bytes of such a greeting. Takes the same time whatever
// they hold.
[[nodiscard]] std::optional<Purpose> read_greeting(std::span<const std::byte> bytes,
                                                   const Admission& admission);

} // namespace sonde
