// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104, FIPS 198-1): what test traffic is authenticated
// with. No library that the workers need has them, and they are copied to bare hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

using Digest = std::array<std::byte, 32>;

class Sha256 {
public:
    static constexpr std::size_t block_bytes = 64;

    // by_processor: with the processor's instructions for it, where it has them: six times as fast.
    explicit Sha256(bool by_processor = true) noexcept;

    void add(std::span<const std::byte> content) noexcept;
    // Of all that was added; the object is used up afterwards.
    [[nodiscard]] Digest digest() noexcept;

private:
    using State = std::array<std::uint32_t, 8>;

    void (*compress_)(State& state, const std::byte* block) noexcept;
    State state_{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
    std::array<std::byte, block_bytes> block_{};
    std::uint64_t bytes_ = 0;
};

// A key, with the two blocks that are the same for every message worked off.
class HmacSha256 {
public:
    // A key of any length. One of more than 64 bytes is replaced by its digest, as the standard
    // says.
    explicit HmacSha256(std::span<const std::byte> key) noexcept;

    [[nodiscard]] Digest of(std::span<const std::byte> message) const noexcept;

private:
    Sha256 inner_;
    Sha256 outer_;
};

} // namespace sonde
