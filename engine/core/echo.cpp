#include "core/echo.hpp"

#include <algorithm>
#include <cstring>

namespace sonde {

namespace {

constexpr std::size_t checksum_offset = 2;
constexpr std::size_t sequence_offset = 6;

void put_big_endian(EchoHeader::Packed& header, std::size_t offset, std::uint16_t value) noexcept {
    header[offset] = static_cast<std::byte>(value >> 8U);
    header[offset + 1] = static_cast<std::byte>(value & 0xFFU);
}

std::uint16_t big_endian(std::span<const std::byte> message, std::size_t offset) noexcept {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(message[offset]) << 8U |
                                      std::to_integer<unsigned>(message[offset + 1]));
}

// In the order of memory: a sum of ones' complement is the same in either order (RFC 1071, 2 B),
// and words of 32 bits fold into the same.
std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
    std::uint64_t sum = 0;
    while (!bytes.empty()) {
        std::uint32_t word = 0;
        const std::size_t taken = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), taken);
        sum += word;
        bytes = bytes.subspan(taken);
    }
    return sum;
}

} // namespace

EchoHeader::Packed EchoHeader::packed() const noexcept {
    Packed header{};
    header[0] = static_cast<std::byte>(type);
    put_big_endian(header, identifier_offset, identifier);
    put_big_endian(header, sequence_offset, sequence);
    return header;
}

std::optional<EchoHeader> read_echo(std::span<const std::byte> message) noexcept {
    if (message.size() < EchoHeader::bytes || message[1] != std::byte{0}) {
        return std::nullopt;
    }
    return EchoHeader{std::to_integer<std::uint8_t>(message[0]),
                      big_endian(message, EchoHeader::identifier_offset),
                      big_endian(message, sequence_offset)};
}

std::optional<EchoHeader> read_echo_in_ipv4(std::span<const std::byte> packet) noexcept {
    constexpr std::byte version_and_words{0x45};
    if (packet.size() < plain_ipv4_header_bytes || packet[0] != version_and_words) {
        return std::nullopt;
    }
    return read_echo(packet.subspan(plain_ipv4_header_bytes));
}

void set_checksum(EchoHeader::Packed& header, std::span<const std::byte> content) noexcept {
    std::memset(&header[checksum_offset], 0, sizeof(std::uint16_t));
    std::uint64_t sum = sum_of(header) + sum_of(content);
    while (sum > UINT16_MAX) {
        sum = (sum & UINT16_MAX) + (sum >> 16U);
    }
    const auto checksum = static_cast<std::uint16_t>(~sum);
    std::memcpy(&header[checksum_offset], &checksum, sizeof checksum);
}

} // namespace sonde
