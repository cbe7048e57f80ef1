// How late frames were released, as a histogram: what tells an honest run from one that was slow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/buckets.h"

namespace sonde {

// Four buckets for each doubling, so that a quantile is known to a quarter or better.
class Lateness {
public:
    static constexpr std::size_t buckets = std::size_t{4} * 48;

    explicit Lateness(std::int64_t limit_ns) : limit_ns_(limit_ns) {}

    void note(std::int64_t late_ns) noexcept {
        const auto late = static_cast<std::uint64_t>(std::max<std::int64_t>(late_ns, 0));
        ++counts_[bucket_of(late)];
        ++frames_;
        beyond_ += late_ns > limit_ns_ ? 1U : 0U;
        most_ns_ = std::max(most_ns_, late_ns);
    }

    [[nodiscard]] std::int64_t limit_ns() const noexcept { return limit_ns_; }
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
    [[nodiscard]] std::uint64_t beyond_limit() const noexcept { return beyond_; }
    [[nodiscard]] std::int64_t most_ns() const noexcept { return most_ns_; }
    [[nodiscard]] const std::array<std::uint64_t, buckets>& counts() const noexcept {
        return counts_;
    }
    // The upper end of the bucket that holds the share q of all frames.
    [[nodiscard]] std::int64_t quantile_ns(double q) const noexcept {
        const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(frames_));
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
            seen += counts_[bucket];
            if (seen > wanted) {
                return std::min(upper_ns(bucket), most_ns_);
            }
        }
        return most_ns_;
    }
    // The first value that is not in the bucket any more.
    [[nodiscard]] static std::int64_t upper_ns(std::size_t bucket) noexcept {
        return static_cast<std::int64_t>(sonde_bucket_low(bucket + 1, precision_bits));
    }

private:
    static constexpr unsigned precision_bits = 2;

    [[nodiscard]] static std::size_t bucket_of(std::uint64_t late) noexcept {
        return std::min<std::size_t>(sonde_bucket_of(late, precision_bits), buckets - 1);
    }

    std::int64_t limit_ns_;
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t frames_ = 0;
    std::uint64_t beyond_ = 0;
    std::int64_t most_ns_ = 0;
};

} // namespace sonde
