#include "kernel_trace/totals.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde {
namespace {

constexpr std::array<std::string_view, TRACE_SOFTIRQ> wait_names{"scheduler", "queue", "driver",
                                                                 "receive"};
// In the kernel's order (include/linux/interrupt.h), which /proc/softirqs shows.
constexpr std::array<std::string_view, TRACE_SOFTIRQS> softirq_names{
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};
constexpr std::array<std::string_view, TRACE_COUNTS> count_names{
    "retransmits.time_out", "retransmits.fast", "retransmits.probe",
    "retransmits.other",    "queue.begun",      "queue.cut",
    "receive.unknown",      "dropped",          "calls"};

void write_wait(const std::string& name, const trace_distribution& wait, bool with_buckets,
                CounterValues& values) {
    values[name + ".count"] = static_cast<std::int64_t>(wait.count);
    values[name + ".sum_ns"] = static_cast<std::int64_t>(wait.sum_ns);
    values[name + ".max_ns"] = static_cast<std::int64_t>(wait.max_ns);
    for (std::size_t i = 0; with_buckets && i < TRACE_BUCKETS; ++i) {
        if (wait.buckets[i] != 0) {
            values[name + ".bucket." + std::to_string(i)] =
                static_cast<std::int64_t>(wait.buckets[i]);
        }
    }
}

} // namespace

void KernelTraceTotals::add_wait(std::size_t which, std::span<const trace_distribution> processors,
                                 unsigned long long epoch) {
    trace_distribution& total = waits.at(which);
    for (const trace_distribution& one : processors) {
        total.count += one.count;
        total.sum_ns += one.sum_ns;
        if (one.epoch == epoch) {
            total.max_ns = std::max(total.max_ns, one.max_ns);
        }
        for (std::size_t i = 0; i < TRACE_BUCKETS; ++i) {
            total.buckets[i] += one.buckets[i];
        }
    }
}

void KernelTraceTotals::add_counts(std::span<const trace_counts> processors) {
    for (const trace_counts& one : processors) {
        for (std::size_t i = 0; i < TRACE_COUNTS; ++i) {
            counts.values[i] += one.values[i];
        }
    }
}

void KernelTraceTotals::write(CounterValues& values) const {
    for (std::size_t i = 0; i < waits.size(); ++i) {
        const bool is_softirq = i >= TRACE_SOFTIRQ;
        const std::string name =
            is_softirq ? "depth.softirq." + std::string(softirq_names.at(i - TRACE_SOFTIRQ))
                       : "depth." + std::string(wait_names.at(i));
        write_wait(name, waits.at(i), !is_softirq, values);
    }
    for (std::size_t i = 0; i < count_names.size(); ++i) {
        values["depth." + std::string(count_names.at(i))] =
            static_cast<std::int64_t>(counts.values[i]);
    }
    values["depth.missed"] = static_cast<std::int64_t>(missed);
}

} // namespace sonde
