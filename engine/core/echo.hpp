// ICMP's echo as it lies in a packet (RFC 792 and, of IPv6, RFC 4443).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sonde {

struct EchoHeader {
    static constexpr std::size_t bytes = 8;
    static constexpr std::size_t identifier_offset = 4;
    using Packed = std::array<std::byte, bytes>;

    std::uint8_t type = 0;
    std::uint16_t identifier = 0; // of the asking process
    std::uint16_t sequence = 0;

    // 0 in place of the checksum.
    [[nodiscard]] Packed packed() const noexcept;
};

constexpr std::uint8_t echo_request_ipv4 = 8;
constexpr std::uint8_t echo_reply_ipv4 = 0;
constexpr std::uint8_t echo_request_ipv6 = 128;
constexpr std::uint8_t echo_reply_ipv6 = 129;

constexpr std::size_t plain_ipv4_header_bytes = 20;

// The header at the begin of a message; nothing where too little came or it has a code, which no
// echo has.
[[nodiscard]] std::optional<EchoHeader> read_echo(std::span<const std::byte> message) noexcept;

// The same behind an IPv4 header, as a raw socket hands packets over; nothing where that header has
// options, for what was sent without comes back without.
[[nodiscard]] std::optional<EchoHeader>
read_echo_in_ipv4(std::span<const std::byte> packet) noexcept;

// Puts the checksum (RFC 1071) of header and content in its place.
void set_checksum(EchoHeader::Packed& header, std::span<const std::byte> content) noexcept;

} // namespace sonde
