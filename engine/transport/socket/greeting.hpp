// The first bytes of every connection and of the datagram path: who it is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sonde {

using Cookie = std::array<std::byte, 16>;

// Throws Failure("bad_request") unless text is 32 hexadecimal digits.
[[nodiscard]] Cookie parse_cookie(const std::string& text);

enum class Purpose : std::uint16_t { control = 1, test, welcome };

// Fixed size: magic, version, purpose, cookie.
constexpr std::size_t greeting_bytes = 32;
using Greeting = std::array<std::byte, greeting_bytes>;

[[nodiscard]] Greeting make_greeting(Purpose purpose, const Cookie& cookie);
// The purpose, where these are exactly the bytes of a greeting with this cookie. Takes the same
// time whatever the cookie holds.
[[nodiscard]] std::optional<Purpose> read_greeting(std::span<const std::byte> bytes,
                                                   const Cookie& cookie);

} // namespace sonde
