// Frames on the link itself: Ethernet's header, 8 bytes of ours, and what is carried. No IP.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace sonde {

// IEEE 802's first one for experiments within a site.
constexpr std::uint16_t link_ether_type = 0x88B5;
constexpr std::size_t ethernet_header_bytes = 14;
constexpr std::size_t link_header_bytes = 8;
constexpr std::size_t link_headers_bytes = ethernet_header_bytes + link_header_bytes;
// Behind our header, of an MTU of 1500: fragments are of that size unless somebody asks otherwise.
constexpr std::size_t usual_fragment_bytes = 1492;
constexpr std::size_t most_fragment_bytes = 9000 - link_header_bytes;

using MacAddress = std::array<std::byte, 6>;

// hello: is anybody there. raw: may be lost. data: is sent again until a pack says that it came;
// a nack asks for it.
enum class FrameKind : std::uint8_t { hello, raw, data, pack, nack };

// A word, the most significant bit first: number 16, kind 3, first, last, answers 1 each, bytes 14,
// sequence 14, answer 14.
struct LinkHeader {
    static constexpr unsigned number_shift = 48;
    static constexpr unsigned kind_shift = 45;
    static constexpr std::uint64_t first_bit = 1ULL << 44U;
    static constexpr std::uint64_t last_bit = 1ULL << 43U;
    static constexpr std::uint64_t answers_bit = 1ULL << 42U;
    static constexpr unsigned bytes_shift = 28;
    static constexpr unsigned sequence_shift = 14;
    static constexpr std::uint32_t sequence_mask = (1U << 14U) - 1;

    std::uint16_t number = 0; // of the endpoint that it is for
    FrameKind kind = FrameKind::hello;
    bool first = false; // of a message's fragments
    bool last = false;
    bool answers = false;       // `answer` says which number the sender of this waits for
    std::uint16_t bytes = 0;    // carried: a short frame is padded on its way
    std::uint16_t sequence = 0; // of 14 bits, as the next
    std::uint16_t answer = 0;

    [[nodiscard]] std::uint64_t packed() const noexcept {
        return std::uint64_t{number} << number_shift |
               std::uint64_t{static_cast<std::uint8_t>(kind)} << kind_shift |
               (first ? first_bit : 0) | (last ? last_bit : 0) | (answers ? answers_bit : 0) |
               std::uint64_t{bytes} << bytes_shift |
               std::uint64_t{sequence & sequence_mask} << sequence_shift | (answer & sequence_mask);
    }
    // The kind is not looked at: it may be none.
    static LinkHeader unpacked(std::uint64_t word) noexcept {
        LinkHeader header;
        header.number = static_cast<std::uint16_t>(word >> number_shift);
        header.kind = static_cast<FrameKind>(word >> kind_shift & 7U);
        header.first = (word & first_bit) != 0;
        header.last = (word & last_bit) != 0;
        header.answers = (word & answers_bit) != 0;
        header.bytes = static_cast<std::uint16_t>(word >> bytes_shift & sequence_mask);
        header.sequence = static_cast<std::uint16_t>(word >> sequence_shift & sequence_mask);
        header.answer = static_cast<std::uint16_t>(word & sequence_mask);
        return header;
    }
};

[[nodiscard]] inline std::uint64_t in_network_order(std::uint64_t word) noexcept {
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

// Where a frame comes from and goes to, as the first bytes of each frame of an endpoint.
class FrameHeaders {
public:
    FrameHeaders() = default;
    FrameHeaders(const MacAddress& to, const MacAddress& from) noexcept {
        std::memcpy(bytes_.data(), to.data(), to.size());
        std::memcpy(bytes_.data() + to.size(), from.data(), from.size());
        bytes_[12] = std::byte{link_ether_type >> 8U};
        bytes_[13] = std::byte{link_ether_type & 0xFFU};
    }
    std::span<const std::byte> with(const LinkHeader& header) noexcept {
        const std::uint64_t word = in_network_order(header.packed());
        std::memcpy(bytes_.data() + ethernet_header_bytes, &word, sizeof word);
        return bytes_;
    }

private:
    std::array<std::byte, link_headers_bytes> bytes_{};
};

// A frame as it came, from anybody. `content` is what its header says that it carries.
struct LinkFrame {
    MacAddress from{};
    LinkHeader header;
    std::span<const std::byte> content;
};

// None where it is no frame of ours, or says that it carries more than it has.
[[nodiscard]] inline std::optional<LinkFrame>
read_frame(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t from_at = 6;
    constexpr std::size_t type_at = 12;
    if (bytes.size() < link_headers_bytes || bytes[type_at] != std::byte{link_ether_type >> 8U} ||
        bytes[type_at + 1] != std::byte{link_ether_type & 0xFFU}) {
        return std::nullopt;
    }
    LinkFrame frame;
    std::memcpy(frame.from.data(), bytes.data() + from_at, frame.from.size());
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + ethernet_header_bytes, sizeof word);
    frame.header = LinkHeader::unpacked(in_network_order(word));
    if (frame.header.kind > FrameKind::nack ||
        frame.header.bytes > bytes.size() - link_headers_bytes) {
        return std::nullopt;
    }
    frame.content = bytes.subspan(link_headers_bytes, frame.header.bytes);
    return frame;
}

} // namespace sonde
