// Numbers in datagrams, and what their arrival tells about loss, repetition and order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace sonde {

// The first 8 bytes of a datagram: its index, the batch it belongs to (so that a straggler of an
// earlier batch is not taken for one of this), and whether it is the batch's last.
struct SequenceNumber {
    static constexpr std::size_t bytes = sizeof(std::uint64_t);

    std::uint32_t index = 0;
    std::uint32_t batch = 0; // 31 bits
    bool last = false;

    static constexpr std::uint32_t batch_mask = 0x7FFF'FFFF;

    [[nodiscard]] std::uint64_t packed() const noexcept {
        return (last ? 1ULL << 63U : 0ULL) | std::uint64_t{batch & batch_mask} << 32U | index;
    }
    static SequenceNumber unpacked(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word),
                static_cast<std::uint32_t>(word >> 32U) & batch_mask, word >> 63U != 0};
    }
    void write(std::span<std::byte> datagram) const noexcept {
        const std::uint64_t word = packed();
        std::memcpy(datagram.data(), &word, bytes);
    }
    static SequenceNumber read(std::span<const std::byte> datagram) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, datagram.data(), bytes);
        return unpacked(word);
    }
};

// The bytes of a numbered message over a path that are no content.
template <class Path>
constexpr std::size_t header_bytes_of() noexcept {
    if constexpr (SealingTransport<Path>) {
        return Path::header_bytes;
    } else {
        return SequenceNumber::bytes;
    }
}

// Which indices have been seen. Exact: one bit for each index below the limit.
class ArrivalLedger {
public:
    explicit ArrivalLedger(std::uint64_t limit) : limit_(limit), seen_((limit + 63) / 64, 0) {}

    // Notes an arrival; false where it is no index of this batch or was seen before.
    bool note(std::uint64_t index) noexcept {
        if (index >= limit_) {
            return false;
        }
        std::uint64_t& word = seen_[index / 64];
        const std::uint64_t bit = 1ULL << (index % 64);
        if ((word & bit) != 0) {
            ++duplicates_;
            return false;
        }
        word |= bit;
        ++received_;
        reordered_ += index < highest_ ? 1U : 0U;
        highest_ = index > highest_ ? index : highest_;
        return true;
    }

    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
    [[nodiscard]] std::uint64_t duplicates() const noexcept { return duplicates_; }
    [[nodiscard]] std::uint64_t reordered() const noexcept { return reordered_; }

private:
    std::uint64_t limit_;
    std::vector<std::uint64_t> seen_;
    std::uint64_t highest_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t duplicates_ = 0;
    std::uint64_t reordered_ = 0;
};

} // namespace sonde
