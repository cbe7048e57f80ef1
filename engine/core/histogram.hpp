// Log-linear histograms of times. They are added bucket by bucket, which is exact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/buckets.h"

namespace sonde {

class Histogram {
public:
    static constexpr unsigned precision_bits = 7;
    static constexpr std::size_t buckets = std::size_t{64 - precision_bits} << precision_bits;

    // Values below 0, of which a time has none, count as 0.
    void add(std::int64_t value) noexcept { ++counts_[bucket_of(value)]; }

    [[nodiscard]] static std::size_t bucket_of(std::int64_t value) noexcept {
        return sonde_bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)),
                               precision_bits);
    }

    // The least value of a bucket.
    [[nodiscard]] static std::int64_t low_of(std::size_t bucket) noexcept {
        return static_cast<std::int64_t>(sonde_bucket_low(bucket, precision_bits));
    }

    [[nodiscard]] std::vector<std::int64_t>& counts() noexcept { return counts_; }
    [[nodiscard]] const std::vector<std::int64_t>& counts() const noexcept { return counts_; }

private:
    std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(buckets, 0);
};

} // namespace sonde
