// Log-linear histograms: where a value lies, how far off a bucket is, and adding.
#include "core/histogram.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

TEST_SUITE("histogram") {
    using sonde::Histogram;

    TEST_CASE("buckets are those of netsonde.stats.histogram") {
        // tests/python/stats/test_histogram.py has the same pairs.
        const std::vector<std::pair<std::int64_t, std::size_t>> known{
            {0, 0},
            {127, 127},
            {128, 128},
            {255, 255},
            {256, 256},
            {257, 256},
            {258, 257},
            {1'000, 506},
            {65'535, 1279},
            {65'536, 1280},
            {1'000'000, 1780},
            {std::numeric_limits<std::int64_t>::max(), Histogram::buckets - 1}};
        for (const auto& [value, bucket] : known) {
            CHECK(Histogram::bucket_of(value) == bucket);
        }
        CHECK(Histogram::bucket_of(-5) == 0);
    }

    TEST_CASE("a bucket is never wider than its share of its values, and none is missing") {
        for (std::size_t bucket = 0; bucket + 1 < Histogram::buckets; ++bucket) {
            const std::int64_t low = Histogram::low_of(bucket);
            const std::int64_t next = Histogram::low_of(bucket + 1);
            REQUIRE(next > low);
            REQUIRE(Histogram::bucket_of(low) == bucket);
            REQUIRE(Histogram::bucket_of(next - 1) == bucket);
            // The widest bucket is 2^-7 of its least value.
            REQUIRE((next - low - 1) <= low >> Histogram::precision_bits);
        }
    }

    TEST_CASE("coarse buckets, those of the switch and of kernel tracing, have the same layout") {
        constexpr unsigned bits = 2;
        const std::vector<std::pair<std::uint64_t, std::uint64_t>> known{
            {0, 0}, {3, 3},  {4, 4},      {7, 7},      {8, 8},
            {9, 8}, {10, 9}, {1'000, 35}, {1'023, 35}, {1'024, 36}};
        for (const auto& [value, bucket] : known) {
            CHECK(sonde_bucket_of(value, bits) == bucket);
        }
        for (std::uint64_t bucket = 0; bucket < 160; ++bucket) {
            REQUIRE(sonde_bucket_of(sonde_bucket_low(bucket, bits), bits) == bucket);
            REQUIRE(sonde_bucket_of(sonde_bucket_low(bucket + 1, bits) - 1, bits) == bucket);
        }
    }

    TEST_CASE("added histograms are the histogram of all samples") {
        std::mt19937_64 draw(7);
        std::vector<Histogram> parts(5);
        Histogram whole;
        for (int i = 0; i < 20'000; ++i) {
            const auto value = static_cast<std::int64_t>(draw() >> (draw() % 60 + 1));
            parts[static_cast<std::size_t>(i) % parts.size()].add(value);
            whole.add(value);
        }
        std::vector<std::int64_t> sum(Histogram::buckets, 0);
        for (const Histogram& part : parts) {
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += part.counts()[i];
            }
        }
        CHECK(sum == whole.counts());
    }
}
