#include "counters/facts.hpp"

#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/affinity.hpp"
#include "core/caches.hpp"
#include "core/counter_trust.hpp"
#include "core/processors.hpp"
#include "counters/interfaces.hpp"
#include "counters/queueing.hpp"
#include "counters/routes.hpp"
#include "counters/snapshot.hpp"
#include "counters/withheld.hpp"

namespace sonde {
namespace {

using nlohmann::json;

constexpr std::size_t most_setting_characters = 512;

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    std::ranges::replace(text, '\t', ' ');
    std::ranges::replace(text, '\n', ';');
    return text;
}

void add_text(json& facts, const std::string& name, std::string text) {
    text = trimmed(std::move(text));
    if (!text.empty() && text.size() <= most_setting_characters) {
        facts[name] = std::move(text);
    }
}

// The value after "key:" or "key=" in a file of such lines.
std::string value_of(std::string_view text, std::string_view key, char separator) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (line.starts_with(key)) {
            const std::size_t at = line.find(separator);
            if (at != std::string_view::npos) {
                std::string_view value = line.substr(at + 1);
                value.remove_prefix(std::min(value.find_first_not_of(" \""), value.size()));
                const std::size_t last = value.find_last_not_of(" \"");
                return std::string(value.substr(0, last + 1));
            }
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return "";
}

void add_system(json& facts) {
    utsname name{};
    if (::uname(&name) == 0) {
        add_text(facts, "os.kernel", name.release);
        add_text(facts, "host.name", name.nodename);
        add_text(facts, "cpu.architecture", name.machine);
    }
    add_text(facts, "os.distribution", value_of(read_file("/etc/os-release"), "PRETTY_NAME", '='));
    const CounterWitnesses clocks = counter_witnesses();
    add_text(facts, "clock.source", clocks.current);
    add_text(facts, "clock.available", clocks.available);
    CounterValues memory;
    parse_memory(read_file("/proc/meminfo"), memory);
    if (memory.contains("memory.total_bytes")) {
        facts["memory.total_bytes"] = memory["memory.total_bytes"];
    }
    facts["page_bytes"] = ::sysconf(_SC_PAGESIZE);
    facts["timer.slack_ns"] = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    facts["compiler"] = __VERSION__;
}

void add_processor(json& facts) {
    const std::string cpuinfo = read_file("/proc/cpuinfo");
    add_text(facts, "cpu.model", value_of(cpuinfo, "model name", ':'));
    facts["cpu.count"] = ::get_nprocs();
    add_text(facts, "cpu.allowed", allowed_cpus());
    add_text(facts, "cpu.packages", in_words(packages()));
    add_text(facts, "cpu.numa_nodes", in_words(numa_nodes()));
    add_text(facts, "cpu.governor",
             read_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    std::string flags = value_of(cpuinfo, "flags", ':');
    flags += ' ';
    std::string kind = trimmed(read_file("/sys/hypervisor/type"));
    if (kind.empty()) {
        kind = flags.find(" hypervisor ") != std::string::npos ? "virtual machine" : "none";
    }
    facts["virtualization"] = kind;
}

// The first CPU's caches that hold data: cpu.cache.l1d_bytes, l2_bytes, l3_bytes.
void add_caches(json& facts) {
    for (const DataCache& cache : data_caches()) {
        facts["cpu.cache.l" + cache.level + (cache.holds_data_only ? "d" : "") + "_bytes"] =
            static_cast<long long>(cache.bytes);
    }
}

void add_setting(json& facts, const std::string& name, const std::filesystem::path& path) {
    const std::string text = trimmed(read_file(path.string()));
    long long number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && error == std::errc{} && stop == text.data() + text.size()) {
        facts[name] = number;
    } else {
        add_text(facts, name, text);
    }
}

void add_settings(json& facts, const std::string& directory, std::string_view wanted_prefix) {
    static constexpr std::array<std::string_view, 2> secrets{"tcp_fastopen_key", "netdev_rss_key"};
    std::string prefix("sysctl.");
    prefix += directory;
    prefix += '.';
    std::ranges::replace(prefix, '/', '.');
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path("/proc/sys") / directory, error)) {
        const std::string name = entry.path().filename().string();
        const bool secret = std::ranges::find(secrets, name) != secrets.end();
        if (name.starts_with(wanted_prefix) && !secret && entry.is_regular_file(error)) {
            add_setting(facts, prefix + name, entry.path());
        }
    }
}

} // namespace

json host_facts() {
    json facts = json::object();
    add_system(facts);
    add_processor(facts);
    add_caches(facts);
    add_settings(facts, "net/core", "");
    add_settings(facts, "net/ipv4", "tcp_");
    add_settings(facts, "net/ipv4", "udp_");
    add_settings(facts, "net/ipv4", "ip_local_port_range");
    add_interfaces(facts);
    const RouteSettings routes = least_route_settings();
    if (routes.rto_min_ms) {
        facts["route.rto_min_ms"] = *routes.rto_min_ms;
    }
    if (routes.window_bytes) {
        facts["route.window_bytes"] = *routes.window_bytes;
    }
    add_queueing_facts(facts);
    add_quota(facts);
    return facts;
}

} // namespace sonde
