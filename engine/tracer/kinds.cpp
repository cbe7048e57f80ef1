#include "tracer/kinds.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sonde {
namespace {

constexpr std::array<std::string_view, 11> gauge_ends{
    "_running", "_blocked",       "_milli",         "_khz",       "_mt_per_s",      ".lanes",
    ".index",   ".backlog_bytes", ".queue_packets", "_offset_us", "_resident_bytes"};

constexpr std::array<std::string_view, 11> gauges{
    "memory.total_bytes",     "memory.available_bytes", "memory.swap_total_bytes",
    "memory.swap_free_bytes", "memory.free_bytes",      "memory.cached_bytes",
    "memory.dirty_bytes",     "memory.writeback_bytes", "snmp.Tcp.CurrEstab",
    "snmp.Ip.Forwarding",     "snmp.Ip.DefaultTTL"};

// Settings that the kernel prints among TCP's counters.
constexpr std::array<std::string_view, 4> settings{"snmp.Tcp.RtoAlgorithm", "snmp.Tcp.RtoMin",
                                                   "snmp.Tcp.RtoMax", "snmp.Tcp.MaxConn"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> units{{
    {"_bytes", "bytes"},
    {"_us", "us"},
    {"_ns", "ns"},
    {"_pages", "pages"},
    {"_packets", "packets"},
    {"_khz", "kHz"},
    {"_mt_per_s", "MT/s"},
    {"_milli", "1/1000"},
}};

CounterKind kind_of(std::string_view name) {
    if (name.starts_with("driver.")) {
        return CounterKind::unknown;
    }
    const bool of_the_moment =
        std::ranges::find(gauges, name) != gauges.end() ||
        std::ranges::find(settings, name) != settings.end() ||
        std::ranges::any_of(gauge_ends, [&](auto end) { return name.ends_with(end); });
    return of_the_moment ? CounterKind::gauge : CounterKind::counter;
}

std::string_view unit_of(std::string_view name) {
    if (name.starts_with("cpu.")) {
        return "jiffies";
    }
    for (const auto& [end, unit] : units) {
        if (name.ends_with(end)) {
            return unit;
        }
    }
    return "count";
}

} // namespace

CounterMeaning meaning_of(std::string_view name) {
    return {kind_of(name), unit_of(name),
            name.starts_with("interrupt_cpu.") || name.starts_with("softirq_cpu.")};
}

} // namespace sonde
