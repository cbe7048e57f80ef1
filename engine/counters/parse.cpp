#include "counters/parse.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "counters/words.hpp"

namespace sonde {
namespace {

// The sum of the numbers after the first word, and where they end.
std::int64_t sum_after_first(const Words& words, std::size_t most, std::size_t& end) {
    std::int64_t sum = 0;
    end = 1;
    while (end < words.size() && end <= most) {
        const auto value = number(words[end]);
        if (!value) {
            break;
        }
        sum = sum_of(sum, *value);
        ++end;
    }
    return sum;
}

// A large host has hundreds of devices' lines and as many CPUs; nearly all numbers are zero.
constexpr std::size_t most_by_cpu = 4096;

// The numbers of a device's line that are not zero, by CPU. Returns how many were added.
std::size_t add_by_cpu(const Words& words, std::size_t end, const Words& cpus,
                       std::string_view name, std::size_t most, CounterValues& values) {
    std::size_t added = 0;
    for (std::size_t i = 1; i < end && added < most; ++i) {
        const std::string_view cpu = cpus[i - 1];
        const std::int64_t count = number(words[i]).value_or(0);
        if (count != 0 && cpu.starts_with("CPU")) {
            std::int64_t& total = values[joined({"interrupt_cpu.", cpu.substr(3), ".", name})];
            total = sum_of(total, count);
            ++added;
        }
    }
    return added;
}

} // namespace

void parse_stat(std::string_view text, CounterValues& values) {
    static constexpr std::array<std::string_view, 10> kinds{
        "user", "nice",    "system", "idle",  "iowait",
        "irq",  "softirq", "steal",  "guest", "guest_nice"};
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.size() < 2) {
            return;
        }
        if (words[0].starts_with("cpu")) {
            const auto which = words[0] == "cpu" ? std::string_view("all") : words[0].substr(3);
            for (std::size_t i = 0; i < kinds.size() && i + 1 < words.size(); ++i) {
                add(values, joined({"cpu.", which, ".", kinds[i]}), words[i + 1]);
            }
        } else if (words[0] == "ctxt") {
            add(values, "system.context_switches", words[1]);
        } else if (words[0] == "intr") {
            add(values, "system.interrupts", words[1]);
        } else if (words[0] == "processes") {
            add(values, "system.processes", words[1]);
        } else if (words[0] == "softirq") {
            add(values, "system.softirqs", words[1]);
        }
    });
}

void parse_interrupts(std::string_view text, CounterValues& values) {
    Words cpus;
    std::size_t by_cpu = 0;
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.empty()) {
            return;
        }
        if (!words[0].ends_with(':')) {
            cpus = words; // the heading
            return;
        }
        std::size_t end = 0;
        const std::int64_t sum = sum_after_first(words, cpus.size(), end);
        const auto label = words[0].substr(0, words[0].size() - 1);
        const bool numbered = number(label).has_value();
        // A numbered line ends with the device that asked for it; the others are types.
        const auto name = numbered && end < words.size() ? words.back() : label;
        if (end > 1) {
            std::int64_t& total = values[joined({"interrupt.", name})];
            total = sum_of(total, sum);
        }
        if (numbered) {
            by_cpu += add_by_cpu(words, end, cpus, name, most_by_cpu - by_cpu, values);
        }
    });
}

void parse_softirqs(std::string_view text, CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        std::size_t end = 0;
        if (words.size() > 1 && words[0].ends_with(':')) {
            const auto name = words[0].substr(0, words[0].size() - 1);
            values[joined({"softirq.", name})] = sum_after_first(words, words.size(), end);
        }
    });
}

void parse_interfaces(std::string_view text, CounterValues& values) {
    static constexpr std::array<std::string_view, 16> counters{
        "rx_bytes",       "rx_packets",    "rx_errors",     "rx_dropped",
        "rx_fifo_errors", "rx_frame",      "rx_compressed", "rx_multicast",
        "tx_bytes",       "tx_packets",    "tx_errors",     "tx_dropped",
        "tx_fifo_errors", "tx_collisions", "tx_carrier",    "tx_compressed"};
    for_each_line(text, [&](std::string_view line) {
        const std::size_t colon = line.rfind(':'); // a name may hold one, a number may not
        if (colon == std::string_view::npos) {
            return;
        }
        const Words name = split(line.substr(0, colon));
        const Words words = split(line.substr(colon + 1));
        if (name.size() != 1) {
            return;
        }
        for (std::size_t i = 0; i < counters.size() && i < words.size(); ++i) {
            add(values, joined({"interface.", name[0], ".", counters[i]}), words[i]);
        }
    });
}

void parse_protocols(std::string_view text, std::string_view prefix, CounterValues& values) {
    Words names;
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.size() < 2) {
            return;
        }
        if (!number(words[1])) {
            names = words;
            return;
        }
        if (names.empty() || names[0] != words[0] || !words[0].ends_with(':')) {
            return;
        }
        const auto protocol = words[0].substr(0, words[0].size() - 1);
        for (std::size_t i = 1; i < words.size() && i < names.size(); ++i) {
            add(values, joined({prefix, ".", protocol, ".", names[i]}), words[i]);
        }
    });
}

void parse_snmp6(std::string_view text, CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        if (words.size() == 2) {
            add(values, joined({"snmp6.", words[0]}), words[1]);
        }
    });
}

void parse_softnet(std::string_view text, CounterValues& values) {
    static constexpr std::array<std::string_view, 3> names{"softnet.processed", "softnet.dropped",
                                                           "softnet.squeezed"};
    for_each_line(text, [&](std::string_view line) { // one line for each CPU, hexadecimal
        const Words words = split(line);
        for (std::size_t i = 0; i < names.size() && i < words.size(); ++i) {
            std::int64_t& total = values[std::string(names[i])];
            total = sum_of(total, number(words[i], 16).value_or(0));
        }
    });
}

void parse_memory(std::string_view text, CounterValues& values) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> lines{
        {{"MemTotal:", "memory.total_bytes"},
         {"MemAvailable:", "memory.available_bytes"},
         {"SwapTotal:", "memory.swap_total_bytes"},
         {"SwapFree:", "memory.swap_free_bytes"}}};
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        const auto kibibytes = words.size() < 2 ? std::nullopt : number(words[1]);
        for (const auto& [label, name] : lines) {
            if (kibibytes && words[0] == label) {
                values[std::string(name)] = *kibibytes * 1024;
            }
        }
    });
}

void parse_paging(std::string_view text, CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        const auto count = words.size() == 2 ? number(words[1]) : std::nullopt;
        if (!count) {
            return;
        }
        if (words[0] == "pgpgin" || words[0] == "pgpgout") { // in KiB
            const bool in = words[0] == "pgpgin";
            values[in ? "memory.paged_in_bytes" : "memory.paged_out_bytes"] = *count * 1024;
        } else if (words[0] == "pswpin" || words[0] == "pswpout") {
            const bool in = words[0] == "pswpin";
            values[in ? "memory.swapped_in_pages" : "memory.swapped_out_pages"] = *count;
        }
    });
}

void parse_load(std::string_view text, CounterValues& values) {
    const Words words = split(text);
    if (words.empty()) {
        return;
    }
    double load = 0.0;
    const auto* const end = words[0].data() + words[0].size();
    const auto [stop, error] = std::from_chars(words[0].data(), end, load);
    if (error == std::errc{} && stop == end) {
        values["load.one_minute_milli"] = std::llround(load * 1000.0);
    }
}

void parse_number(std::string_view text, std::int64_t unit, std::string name,
                  CounterValues& values) {
    if (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    if (const auto count = number(text)) {
        // Without sign, so that a large counter wraps as it would by itself.
        const auto total = static_cast<std::uint64_t>(*count) * static_cast<std::uint64_t>(unit);
        values[std::move(name)] = static_cast<std::int64_t>(total);
    }
}

} // namespace sonde
