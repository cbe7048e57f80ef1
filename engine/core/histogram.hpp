// Log-linear histograms of times (the layout of HdrHistogram, Tene 2012, with a power of two where
// it has a decimal digit): every power of two is divided into equal buckets, so that a bucket is
// never wider than 2^-precision_bits of its values. Histograms are added bucket by bucket, which is
// exact. netsonde.stats.histogram has the same layout.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde {

class Histogram {
public:
    static constexpr unsigned precision_bits = 7;
    static constexpr std::size_t buckets = std::size_t{64 - precision_bits} << precision_bits;

    // Values below 0, of which a time has none, count as 0.
    void add(std::int64_t value) noexcept { ++counts_[bucket_of(value)]; }

    [[nodiscard]] static std::size_t bucket_of(std::int64_t value) noexcept {
        const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
        const auto exponent = static_cast<unsigned>(std::bit_width(positive));
        if (exponent <= precision_bits) {
            return positive; // below 2^precision_bits every value has its own bucket
        }
        const unsigned octave = exponent - precision_bits;
        const std::uint64_t leading = positive >> (octave - 1);
        return (std::size_t{octave} << precision_bits) +
               (leading - (std::uint64_t{1} << precision_bits));
    }

    // The least value of a bucket.
    [[nodiscard]] static std::int64_t low_of(std::size_t bucket) noexcept {
        const std::size_t octave = bucket >> precision_bits;
        const std::uint64_t below = bucket & ((std::size_t{1} << precision_bits) - 1);
        if (octave == 0) {
            return static_cast<std::int64_t>(below);
        }
        return static_cast<std::int64_t>(((std::uint64_t{1} << precision_bits) + below)
                                         << (octave - 1));
    }

    [[nodiscard]] std::vector<std::int64_t>& counts() noexcept { return counts_; }
    [[nodiscard]] const std::vector<std::int64_t>& counts() const noexcept { return counts_; }

private:
    std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(buckets, 0);
};

} // namespace sonde
