// How many bytes blocks and their segments have.
#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

namespace {

constexpr std::int64_t ceil_divide(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
}

} // namespace

Layout Layout::equal(std::int32_t blocks, std::int64_t block_bytes, std::int64_t segment_bytes) {
    Layout layout(Kind::equal, blocks, segment_bytes);
    layout.block_bytes_ = block_bytes;
    return layout;
}

Layout Layout::by_block(std::vector<std::int64_t> bytes, std::int64_t segment_bytes) {
    Layout layout(Kind::by_block, static_cast<std::int32_t>(bytes.size()), segment_bytes);
    layout.table_ = std::move(bytes);
    return layout;
}

Layout Layout::by_origin(std::vector<std::int64_t> bytes, std::int64_t segment_bytes) {
    Layout layout(Kind::by_origin, 1, segment_bytes);
    layout.table_ = std::move(bytes);
    return layout;
}

Layout Layout::by_pair(std::vector<std::int64_t> bytes, Rank ranks, std::int64_t segment_bytes) {
    Layout layout(Kind::by_pair, ranks, segment_bytes);
    layout.table_ = std::move(bytes);
    return layout;
}

Layout Layout::divided(std::int64_t total_bytes, std::int32_t blocks, std::int64_t element_bytes,
                       std::int64_t segment_bytes) {
    Layout layout(Kind::divided, blocks, segment_bytes);
    layout.total_bytes_ = total_bytes;
    layout.block_bytes_ =
        ceil_divide(ceil_divide(total_bytes, blocks), element_bytes) * element_bytes;
    return layout;
}

Layout Layout::tokens() { return {Kind::tokens, 1, 0}; }

std::int64_t Layout::bytes(Rank origin, std::int32_t block) const {
    switch (kind_) {
    case Kind::equal:
        return block_bytes_;
    case Kind::by_block:
        return table_[static_cast<std::size_t>(block)];
    case Kind::by_origin:
        return table_[static_cast<std::size_t>(origin)];
    case Kind::by_pair:
        return table_[static_cast<std::size_t>(std::int64_t{origin} * blocks_ + block)];
    case Kind::divided:
        return std::clamp(total_bytes_ - block * block_bytes_, std::int64_t{0}, block_bytes_);
    case Kind::tokens:
        break;
    }
    return 0;
}

std::int32_t Layout::segments(Rank origin, std::int32_t block) const {
    if (kind_ == Kind::tokens) {
        return 1;
    }
    const std::int64_t size = bytes(origin, block);
    if (segment_bytes_ == 0) {
        return size > 0 ? 1 : 0;
    }
    return static_cast<std::int32_t>(ceil_divide(size, segment_bytes_));
}

std::int64_t Layout::bytes(Rank origin, std::int32_t block, std::int32_t segment) const {
    const std::int64_t size = bytes(origin, block);
    return segment_bytes_ == 0 ? size : std::min(segment_bytes_, size - segment * segment_bytes_);
}

// The bytes of a range's segments in one of its blocks.
std::int64_t Layout::range_bytes(Rank origin, std::int32_t block, const Range& range) const {
    const std::int64_t size = bytes(origin, block);
    if (segment_bytes_ == 0) {
        return range.segment == 0 && range.segments > 0 ? size : 0;
    }
    // Counted in segments first: `whole` of them would be more bytes than an integer holds.
    const std::int64_t all = ceil_divide(size, segment_bytes_);
    const std::int64_t first = std::min<std::int64_t>(range.segment, all);
    const std::int64_t end =
        std::min<std::int64_t>(std::int64_t{range.segment} + range.segments, all);
    return std::min(size, end * segment_bytes_) - std::min(size, first * segment_bytes_);
}

// What the first so many blocks of a divided message have together.
std::int64_t Layout::bytes_before(std::int64_t block) const {
    return std::min(total_bytes_, block * block_bytes_);
}

std::int64_t Layout::bytes(const Range& range, Rank ranks) const {
    if (kind_ == Kind::equal) { // the common case, and of constant cost
        return std::int64_t{range.origins} * range.blocks * range_bytes(0, 0, range);
    }
    if (kind_ == Kind::tokens) {
        return 0;
    }
    if (kind_ == Kind::divided && range.segment == 0 && range.segments == whole) {
        const std::int64_t end = std::int64_t{range.block} + range.blocks;
        const std::int64_t around = std::max<std::int64_t>(end - blocks_, 0); // begins anew at 0
        return range.origins *
               (bytes_before(end - around) - bytes_before(range.block) + bytes_before(around));
    }
    std::int64_t sum = 0;
    for (Rank i = 0; i < range.origins; ++i) {
        const auto origin = static_cast<Rank>((std::int64_t{range.origin} + i) % ranks);
        for (std::int32_t j = 0; j < range.blocks; ++j) {
            const auto block = static_cast<std::int32_t>((std::int64_t{range.block} + j) % blocks_);
            sum += range_bytes(origin, block, range);
        }
    }
    return sum;
}

bool Layout::empty(const Range& range, Rank ranks) const {
    return kind_ == Kind::tokens ? range.origins == 0 : bytes(range, ranks) == 0;
}

} // namespace sonde::schedule
