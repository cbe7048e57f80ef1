#include "counters/parse_cores.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "counters/words.hpp"

namespace sonde {
namespace {

using Renamed = std::pair<std::string_view, std::string_view>;

template <std::size_t count>
void add_renamed(std::string_view text, const std::array<Renamed, count>& names, std::int64_t unit,
                 CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        const auto value = words.size() < 2 ? std::nullopt : number(words[1]);
        for (const auto& [label, name] : names) {
            if (value && words[0] == label) {
                values[std::string(name)] = *value * unit;
            }
        }
    });
}

} // namespace

void parse_running(std::string_view text, CounterValues& values) {
    static constexpr std::array<Renamed, 2> names{{{"procs_running", "system.processes_running"},
                                                   {"procs_blocked", "system.processes_blocked"}}};
    add_renamed(text, names, 1, values);
}

void parse_softirqs_by_cpu(std::string_view text, CounterValues& values) {
    Words cpus;
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.empty()) {
            return;
        }
        if (!words[0].ends_with(':')) {
            cpus = words; // the heading
            return;
        }
        const auto kind = words[0].substr(0, words[0].size() - 1);
        for (std::size_t i = 1; i < words.size() && i <= cpus.size(); ++i) {
            const auto count = number(words[i]).value_or(0);
            if (count != 0 && cpus[i - 1].starts_with("CPU")) {
                values[joined({"softirq_cpu.", cpus[i - 1].substr(3), ".", kind})] = count;
            }
        }
    });
}

void parse_softnet_by_cpu(std::string_view text, CounterValues& values) {
    static constexpr std::array<std::string_view, 3> names{"processed", "dropped", "squeezed"};
    constexpr std::size_t processor_column = 12; // since Linux 5.10; before, lines are in order
    std::int64_t line_number = 0;
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        const auto said = words.size() > processor_column ? number(words[processor_column], 16)
                                                          : std::optional(line_number);
        const std::string cpu = std::to_string(said.value_or(line_number));
        for (std::size_t i = 0; i < names.size() && i < words.size(); ++i) {
            if (const auto count = number(words[i], 16)) {
                values[joined({"softnet_cpu.", cpu, ".", names[i]})] = *count;
            }
        }
        ++line_number;
    });
}

void parse_memory_uses(std::string_view text, CounterValues& values) {
    static constexpr std::array<Renamed, 4> names{{{"MemFree:", "memory.free_bytes"},
                                                   {"Cached:", "memory.cached_bytes"},
                                                   {"Dirty:", "memory.dirty_bytes"},
                                                   {"Writeback:", "memory.writeback_bytes"}}};
    add_renamed(text, names, 1024, values);
}

void parse_placement(std::string_view text, CounterValues& values) {
    static constexpr std::array<Renamed, 9> names{{{"pgfault", "memory.faults"},
                                                   {"pgmajfault", "memory.major_faults"},
                                                   {"oom_kill", "memory.processes_killed"},
                                                   {"numa_hit", "numa.hits"},
                                                   {"numa_miss", "numa.misses"},
                                                   {"numa_foreign", "numa.foreign"},
                                                   {"numa_local", "numa.local"},
                                                   {"numa_other", "numa.other"},
                                                   {"numa_pages_migrated", "numa.migrated"}}};
    add_renamed(text, names, 1, values);
}

void parse_pressure(std::string_view text, std::string_view resource, CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.size() < 2 || !words.back().starts_with("total=")) {
            return;
        }
        add(values, joined({"pressure.", resource, ".", words[0], "_us"}), words.back().substr(6));
    });
}

std::optional<std::int64_t> parse_link_speed(std::string_view text) {
    double speed = 0.0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    const std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
    if (error != std::errc{} || !rest.starts_with(" GT/s")) {
        return std::nullopt;
    }
    return std::llround(speed * 1000.0);
}

} // namespace sonde
