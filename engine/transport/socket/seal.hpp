// What makes test traffic authentic where that is asked for: a keyed tag (HMAC-SHA-256, its first
// 128 bits, as in STAMP's authenticated mode, RFC 8762) of all that counts are taken from. Both
// ends have the key from whoever started them; it never travels between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/sha256.hpp"

namespace sonde {

using SealKey = std::array<std::byte, 32>;
using Tag = std::array<std::byte, 16>;

// Throws Failure("bad_request") unless text is 64 hexadecimal digits; never repeats the text.
[[nodiscard]] SealKey parse_seal_key(const std::string& text);

// Who says it: part of what a tag is of, so that an end takes nothing of its own for the other's.
enum class Speaker : std::uint32_t { origin, target };

// What a tag is of, besides content: no tag of one thing is one of another.
struct Sealed {
    enum class What : std::uint32_t { greeting = 1, frame, datagram };

    What what = What::greeting;
    Speaker speaker = Speaker::origin;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
};

constexpr std::size_t most_sealed_bytes = 32;

// content: at most most_sealed_bytes.
[[nodiscard]] Tag tag_of(const HmacSha256& mac, const Sealed& sealed,
                         std::span<const std::byte> content = {}) noexcept;
// Takes the same time whatever they hold.
[[nodiscard]] bool are_same(std::span<const std::byte> one,
                            std::span<const std::byte> other) noexcept;

// At one end of a session.
class Seal {
public:
    Seal(const SealKey& key, Speaker own) noexcept
        : mac_(key), own_(own), peer_(own == Speaker::origin ? Speaker::target : Speaker::origin) {}

    // Of the next control frame that this end sends. Both ends count frames, so that none can be
    // left out, repeated or exchanged.
    [[nodiscard]] Tag of_next_frame(std::span<const std::byte> frame) noexcept;
    [[nodiscard]] bool is_peers_next_frame(std::span<const std::byte> frame,
                                           std::span<const std::byte> tag) noexcept;

    // A datagram begins with its number; its tag, of number and length, comes next.
    static constexpr std::size_t number_bytes = sizeof(std::uint64_t);
    static constexpr std::size_t header_bytes = number_bytes + sizeof(Tag);

    // The tag of a datagram of at least header_bytes.
    void write(std::span<std::byte> datagram) const noexcept;
    // header: the beginning of a datagram of so many bytes.
    [[nodiscard]] bool is_peers(std::span<const std::byte, header_bytes> header,
                                std::size_t bytes) const noexcept;

private:
    HmacSha256 mac_;
    Speaker own_;
    Speaker peer_;
    std::uint64_t frames_sent_ = 0;
    std::uint64_t frames_received_ = 0;
};

} // namespace sonde
