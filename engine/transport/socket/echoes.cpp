#include "transport/socket/echoes.hpp"

namespace sonde {

namespace {

constexpr std::size_t sequences = 65'536;

} // namespace

Echoes::Echoes(EchoSocketKind kind, std::uint16_t identifier)
    : kind_(kind), is_ipv6_(kind == EchoSocketKind::ping_ipv6 || kind == EchoSocketKind::raw_ipv6),
      identifier_(identifier), numbers_(sequences) {}

std::uint16_t Echoes::next_sequence(std::uint64_t number) noexcept {
    ++sequence_;
    numbers_[sequence_] = number;
    return sequence_;
}

std::optional<std::uint64_t> Echoes::number_of(std::uint16_t sequence) const noexcept {
    return numbers_[sequence];
}

EchoHeader::Packed Echoes::request(std::uint16_t sequence,
                                   std::span<const std::byte> content) const noexcept {
    const std::uint8_t type = is_ipv6_ ? echo_request_ipv6 : echo_request_ipv4;
    EchoHeader::Packed packed = EchoHeader{type, identifier_, sequence}.packed();
    if (kind_ == EchoSocketKind::raw_ipv4) {
        set_checksum(packed, content);
    }
    return packed;
}

std::size_t Echoes::front_bytes() const noexcept {
    return kind_ == EchoSocketKind::raw_ipv4 ? most_front_bytes : EchoHeader::bytes;
}

std::optional<std::uint16_t> Echoes::answered(std::span<const std::byte> front) const noexcept {
    const auto header =
        kind_ == EchoSocketKind::raw_ipv4 ? read_echo_in_ipv4(front) : read_echo(front);
    const std::uint8_t type = is_ipv6_ ? echo_reply_ipv6 : echo_reply_ipv4;
    if (!header || header->type != type || header->identifier != identifier_) {
        return std::nullopt;
    }
    return header->sequence;
}

} // namespace sonde
