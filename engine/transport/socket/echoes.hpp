// The echoes of one socket: what is in front of a message, and to which message an answer belongs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/echo.hpp"

namespace sonde {

// The most that the kernel hands over in front of an answer's content.
constexpr std::size_t most_front_bytes = plain_ipv4_header_bytes + EchoHeader::bytes;

// What the kernel does for a socket: a raw one of IPv4 writes checksums itself and sees IP headers.
enum class EchoSocketKind : std::uint8_t { ping_ipv4, raw_ipv4, ping_ipv6, raw_ipv6 };

class Echoes {
public:
    Echoes(EchoSocketKind kind, std::uint16_t identifier);

    // The next of ICMP's 65536 sequence numbers, for a message whose number is longer. It is
    // remembered until the sequence comes round.
    [[nodiscard]] std::uint16_t next_sequence(std::uint64_t number) noexcept;
    // The number of the message that was sent last under a sequence; nothing where none was.
    [[nodiscard]] std::optional<std::uint64_t> number_of(std::uint16_t sequence) const noexcept;

    // What goes in front of the content.
    [[nodiscard]] EchoHeader::Packed request(std::uint16_t sequence,
                                             std::span<const std::byte> content) const noexcept;
    // How many bytes the kernel hands over in front of an answer's content.
    [[nodiscard]] std::size_t front_bytes() const noexcept;
    // The sequence of an answer to an echo of ours, from what is in front of its content; nothing
    // where it is something else.
    [[nodiscard]] std::optional<std::uint16_t>
    answered(std::span<const std::byte> front) const noexcept;

private:
    EchoSocketKind kind_;
    bool is_ipv6_;
    std::uint16_t identifier_;
    std::uint16_t sequence_ = 0;
    std::vector<std::optional<std::uint64_t>> numbers_;
};

} // namespace sonde
