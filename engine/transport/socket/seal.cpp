#include "transport/socket/seal.hpp"

#include <algorithm>
#include <cstring>

#include "core/failure.hpp"
#include "core/hexadecimal.hpp"

namespace sonde {
namespace {

std::uint64_t number_of(std::span<const std::byte> datagram) noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, datagram.data(), sizeof number);
    return number;
}

} // namespace

SealKey parse_seal_key(const std::string& text) {
    SealKey key{};
    if (!read_hexadecimal(text, key)) {
        throw Failure("bad_request", "request: key must be 64 hexadecimal digits, 0-9 and a-f");
    }
    return key;
}

Tag tag_of(const HmacSha256& mac, const Sealed& sealed,
           std::span<const std::byte> content) noexcept {
    static_assert(sizeof(Sealed) == 24); // without gaps, which would hold anything
    std::array<std::byte, sizeof sealed + most_sealed_bytes> said{};
    std::memcpy(said.data(), &sealed, sizeof sealed);
    std::ranges::copy(content, said.begin() + sizeof sealed);
    const Digest digest = mac.of(std::span(said).first(sizeof sealed + content.size()));
    Tag tag{};
    std::copy_n(digest.begin(), tag.size(), tag.begin());
    return tag;
}

bool are_same(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
    std::byte difference{one.size() == other.size() ? std::uint8_t{0} : std::uint8_t{1}};
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
        difference |= one[i] ^ other[i];
    }
    return difference == std::byte{0};
}

Tag Seal::of_next_frame(std::span<const std::byte> frame) noexcept {
    return tag_of(mac_, {Sealed::What::frame, own_, frames_sent_++, frame.size()}, frame);
}

bool Seal::is_peers_next_frame(std::span<const std::byte> frame,
                               std::span<const std::byte> tag) noexcept {
    const Sealed sealed{Sealed::What::frame, peer_, frames_received_++, frame.size()};
    return are_same(tag_of(mac_, sealed, frame), tag);
}

void Seal::write(std::span<std::byte> datagram) const noexcept {
    const Tag tag =
        tag_of(mac_, {Sealed::What::datagram, own_, number_of(datagram), datagram.size()});
    std::ranges::copy(tag, datagram.begin() + number_bytes);
}

bool Seal::is_peers(std::span<const std::byte, header_bytes> header,
                    std::size_t bytes) const noexcept {
    const Sealed sealed{Sealed::What::datagram, peer_, number_of(header), bytes};
    return are_same(tag_of(mac_, sealed), header.subspan<number_bytes>());
}

} // namespace sonde
