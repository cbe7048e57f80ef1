#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include "depth/depth.hpp"
#include "depth/totals.hpp"

namespace {

using namespace sonde;

depth_distribution waited(unsigned long long count, unsigned long long ns, std::size_t bucket,
                          unsigned long long epoch) {
    depth_distribution one{};
    one.count = count;
    one.sum_ns = count * ns;
    one.max_ns = ns;
    one.epoch = epoch;
    one.buckets[bucket] = count;
    return one;
}

} // namespace

TEST_SUITE_BEGIN("depth");

TEST_CASE("processors are added, and only the epoch's largest count") {
    DepthTotals totals;
    const std::array processors{waited(2, 100, 19, 5), waited(3, 40, 13, 5),
                                waited(1, 9'000, 44, 4)};
    totals.add_wait(DEPTH_QUEUE, processors, 5);
    CounterValues values;
    totals.write(values);
    CHECK(values.at("depth.queue.count") == 6);
    CHECK(values.at("depth.queue.sum_ns") == 2 * 100 + 3 * 40 + 9'000);
    CHECK(values.at("depth.queue.max_ns") == 100);
    CHECK(values.at("depth.queue.bucket.19") == 2);
    CHECK(values.at("depth.queue.bucket.44") == 1);
    CHECK_FALSE(values.contains("depth.queue.bucket.20"));
    CHECK(values.at("depth.driver.count") == 0);
}

TEST_CASE("counts of processors are added, and every name is there") {
    DepthTotals totals;
    std::array<depth_counts, 2> processors{};
    processors[0].values[DEPTH_FAST] = 3;
    processors[1].values[DEPTH_FAST] = 4;
    processors[1].values[DEPTH_DROPPED] = 1;
    totals.add_counts(processors);
    totals.missed = 2;
    CounterValues values;
    totals.write(values);
    CHECK(values.at("depth.retransmits.fast") == 7);
    CHECK(values.at("depth.retransmits.time_out") == 0);
    CHECK(values.at("depth.dropped") == 1);
    CHECK(values.at("depth.missed") == 2);
    CHECK(values.contains("depth.softirq.NET_RX.sum_ns"));
    CHECK(values.contains("depth.softirq.RCU.max_ns"));
    CHECK_FALSE(values.contains("depth.softirq.NET_RX.bucket.0"));
}

TEST_CASE("a host without depth says why in a word that the record format knows") {
    DepthMissing missing;
    const auto depth = load_depth(missing);
    if (depth) {
        CHECK(missing.reason.empty());
        CounterValues values;
        depth->begin();
        depth->add(values);
        CHECK(values.at("depth.queue.count") == 0); // no socket is watched
    } else {
        const bool known = missing.reason == "not_compiled" || missing.reason == "no_btf" ||
                           missing.reason == "capability" || missing.reason == "refused";
        CHECK(known);
        CHECK_FALSE(missing.detail.empty());
    }
}

TEST_SUITE_END();
