#include "core/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace sonde {
namespace {

using State = std::array<std::uint32_t, 8>;

constexpr std::array<std::uint32_t, 64> constants{
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

std::uint32_t big_endian(const std::byte* at) noexcept {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        value = value << 8U | std::to_integer<std::uint32_t>(at[i]);
    }
    return value;
}

void write_big_endian(std::byte* at, std::uint32_t value) noexcept {
    for (int i = 0; i < 4; ++i) {
        at[i] = static_cast<std::byte>(value >> (24 - 8 * i));
    }
}

// FIPS 180-4, 6.2.2.
void compress_plainly(State& state, const std::byte* block) noexcept {
    std::array<std::uint32_t, 64> words{};
    for (std::size_t i = 0; i < 16; ++i) {
        words[i] = big_endian(block + 4 * i);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t early = words[i - 15];
        const std::uint32_t late = words[i - 2];
        const std::uint32_t s0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3U;
        const std::uint32_t s1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10U;
        words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + constants[i] + words[i];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const State change{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) {
        state[i] += change[i];
    }
}

#if defined(__x86_64__)

// By the processor's own instructions, which keep the state as ABEF and CDGH. Four rounds at a
// time; the message schedule runs twelve words ahead.
__attribute__((target("sha,sse4.1,ssse3"))) void
compress_by_processor(State& state, const std::byte* block) noexcept {
    const __m128i swap = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
    __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data()));
    __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state.data() + 4));
    low = _mm_shuffle_epi32(low, 0xB1);
    high = _mm_shuffle_epi32(high, 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xF0);
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4]; // NOLINT(*-avoid-c-arrays): std::array drops the alignment
    for (std::size_t i = 0; i < 4; ++i) {
        words[i] = _mm_shuffle_epi8(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i)), swap);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
        const __m128i now = words[i % 4];
        __m128i sum = _mm_add_epi32(
            now, _mm_loadu_si128(reinterpret_cast<const __m128i*>(constants.data() + 4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        if (i < 12) {
            const __m128i last = words[(i + 3) % 4];
            const __m128i seventh = _mm_alignr_epi8(last, words[(i + 2) % 4], 4);
            words[i % 4] = _mm_sha256msg2_epu32(
                _mm_add_epi32(_mm_sha256msg1_epu32(now, words[(i + 1) % 4]), seventh), last);
        }
        sum = _mm_shuffle_epi32(sum, 0x0E);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, sum);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
    low = _mm_shuffle_epi32(abef, 0x1B);
    high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(high, low, 8));
}

bool has_instructions() noexcept {
    constexpr unsigned sha = 1U << 29U;   // leaf 7, EBX
    constexpr unsigned sse41 = 1U << 19U; // leaf 1, ECX
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & sse41) == 0) {
        return false;
    }
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & sha) != 0;
}

#else

constexpr auto compress_by_processor = compress_plainly;
bool has_instructions() noexcept { return false; }

#endif

} // namespace

Sha256::Sha256(bool by_processor) noexcept
    : compress_(by_processor && has_instructions() ? compress_by_processor : compress_plainly) {}

void Sha256::add(std::span<const std::byte> content) noexcept {
    while (!content.empty()) {
        const std::size_t filled = bytes_ % block_bytes;
        const std::size_t piece = std::min(block_bytes - filled, content.size());
        std::memcpy(block_.data() + filled, content.data(), piece);
        bytes_ += piece;
        content = content.subspan(piece);
        if (filled + piece == block_bytes) {
            compress_(state_, block_.data());
        }
    }
}

Digest Sha256::digest() noexcept {
    constexpr std::size_t length_at = block_bytes - sizeof(std::uint64_t);
    const std::uint64_t bits = bytes_ * 8;
    std::size_t filled = bytes_ % block_bytes;
    block_[filled++] = std::byte{0x80};
    if (filled > length_at) {
        std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled), block_.end(), std::byte{0});
        compress_(state_, block_.data());
        filled = 0;
    }
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled), block_.end(), std::byte{0});
    write_big_endian(block_.data() + length_at, static_cast<std::uint32_t>(bits >> 32U));
    write_big_endian(block_.data() + length_at + 4, static_cast<std::uint32_t>(bits));
    compress_(state_, block_.data());
    Digest digest;
    for (std::size_t i = 0; i < state_.size(); ++i) {
        write_big_endian(digest.data() + 4 * i, state_[i]);
    }
    return digest;
}

HmacSha256::HmacSha256(std::span<const std::byte> key) noexcept {
    std::array<std::byte, Sha256::block_bytes> block{};
    if (key.size() > block.size()) {
        Sha256 of_key;
        of_key.add(key);
        std::ranges::copy(of_key.digest(), block.begin());
    } else {
        std::ranges::copy(key, block.begin());
    }
    const auto start = [&block](Sha256& sum, std::byte pad) {
        std::array<std::byte, Sha256::block_bytes> padded{};
        std::ranges::transform(block, padded.begin(), [pad](std::byte b) { return b ^ pad; });
        sum.add(padded);
    };
    start(inner_, std::byte{0x36});
    start(outer_, std::byte{0x5C});
}

Digest HmacSha256::of(std::span<const std::byte> message) const noexcept {
    Sha256 inner = inner_;
    inner.add(message);
    Sha256 outer = outer_;
    outer.add(inner.digest());
    return outer.digest();
}

} // namespace sonde
