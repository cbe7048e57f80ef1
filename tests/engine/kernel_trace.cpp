#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include "kernel_trace/kernel_trace.hpp"
#include "kernel_trace/totals.hpp"

namespace {

using namespace sonde;

trace_distribution waited(unsigned long long count, unsigned long long ns, std::size_t bucket,
                          unsigned long long epoch) {
    trace_distribution one{};
    one.count = count;
    one.sum_ns = count * ns;
    one.max_ns = ns;
    one.epoch = epoch;
    one.buckets[bucket] = count;
    return one;
}

} // namespace

TEST_SUITE_BEGIN("kernel_trace");

TEST_CASE("CPUs are added, and only the epoch's largest count") {
    KernelTraceTotals totals;
    const std::array processors{waited(2, 100, 19, 5), waited(3, 40, 13, 5),
                                waited(1, 9'000, 44, 4)};
    totals.add_wait(TRACE_QUEUE, processors, 5);
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

TEST_CASE("counts of CPUs are added, and every name is there") {
    KernelTraceTotals totals;
    std::array<trace_counts, 2> processors{};
    processors[0].values[TRACE_FAST] = 3;
    processors[1].values[TRACE_FAST] = 4;
    processors[1].values[TRACE_DROPPED] = 1;
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

TEST_CASE("a host without kernel tracing says why in a word that the record format knows") {
    KernelTraceMissing missing;
    const auto trace = load_kernel_trace(missing);
    if (trace) {
        CHECK(missing.reason.empty());
        CounterValues values;
        trace->begin();
        trace->add(values);
        CHECK(values.at("depth.queue.count") == 0); // no socket is watched
    } else {
        const bool known = missing.reason == "not_compiled" || missing.reason == "no_btf" ||
                           missing.reason == "capability" || missing.reason == "refused";
        CHECK(known);
        CHECK_FALSE(missing.detail.empty());
    }
}

TEST_SUITE_END();
