#include "tracer/counter_reader.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/failure.hpp"
#include "counters/infiniband.hpp"
#include "counters/parse_cores.hpp"
#include "counters/snapshot.hpp"
#include "counters/words.hpp"
#include "tracer/driver_counters.hpp"
#include "tracer/queue_counters.hpp"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = std::size_t{16} << 20U;
constexpr std::int64_t slow_every_ns = 60'000'000'000;
constexpr std::size_t most_cpus = 4096;
constexpr std::size_t most_interfaces = 1024;

bool is_number(const std::string& text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += text.empty() ? name : ", " + name;
    }
    return text.empty() ? "none" : text;
}

// The CPUs below /sys that have a folder, by number.
std::vector<std::string> processors(const fs::path& root) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator entry(root / "sys/devices/system/cpu", error), end;
         !error && entry != end && found.size() < most_cpus; entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (name.starts_with("cpu") && is_number(name.substr(3))) {
            found.push_back(name.substr(3));
        }
    }
    return found;
}

} // namespace

std::vector<std::string> interface_names(const fs::path& root) {
    CounterValues values;
    parse_interfaces(read_file((root / "proc/net/dev").string()), values);
    std::vector<std::string> names;
    constexpr std::string_view prefix = "interface.";
    constexpr std::string_view suffix = ".rx_bytes";
    for (const auto& [name, value] : values) {
        if (name.ends_with(suffix) && names.size() < most_interfaces) {
            names.push_back(
                name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
        }
    }
    return names;
}

std::vector<std::string> part_names() {
    // Kept beside all_parts() by the check in the constructor's tests.
    return {"cpu",       "load",    "memory",     "paging",   "interrupts",
            "softirqs",  "softnet", "interfaces", "driver",   "queues",
            "protocols", "rdma",    "frequency",  "pressure", "link"};
}

const std::vector<SystemCounters::Part>& SystemCounters::all_parts() {
    using S = SystemCounters;
    static const std::vector<Part> parts{
        {"cpu", &S::read_cpu, "", false},
        {"load", &S::read_load, "", false},
        {"memory", &S::read_memory, "", false},
        {"paging", &S::read_paging, "", false},
        {"interrupts", &S::read_interrupts, "", false},
        {"softirqs", &S::read_softirqs, "", false},
        {"softnet", &S::read_softnet, "", false},
        {"interfaces", &S::read_interfaces, "", false},
        {"driver", &S::read_driver, "no interface's driver has statistics of its own", false},
        {"queues", &S::read_queues, "no interface has a queue discipline that counts", false},
        {"protocols", &S::read_protocols, "", false},
        {"rdma", &S::read_rdma, "there is no port below /sys/class/infiniband", false},
        {"frequency", &S::read_frequency, "the system tells neither frequency nor throttling",
         false},
        {"pressure", &S::read_pressure, "", false},
        {"link", &S::read_link, "no interface's device is on PCI Express", true},
    };
    return parts;
}

SystemCounters::SystemCounters(TraceSources sources)
    : sources_(std::move(sources)), driver_(std::make_unique<DriverCounters>()),
      queues_(std::make_unique<QueueCounters>()) {
    const auto& known = all_parts();
    for (const std::string& part : sources_.parts) {
        if (std::ranges::none_of(known, [&](const Part& one) { return one.name == part; })) {
            throw Failure("bad_request",
                          "there is no part " + part + "; there are " + list_of(part_names()));
        }
    }
    const auto& wanted = sources_.parts;
    std::ranges::copy_if(known, std::back_inserter(parts_), [&](const Part& one) {
        return wanted.empty() || std::ranges::find(wanted, one.name) != wanted.end();
    });
    const auto present = interface_names(sources_.root);
    for (const std::string& name : sources_.interfaces) {
        if (!present.empty() && std::ranges::find(present, name) == present.end()) {
            throw Failure("bad_request",
                          name + " is no interface of this host; it has " + list_of(present));
        }
    }
}

SystemCounters::~SystemCounters() = default;

void SystemCounters::read(std::int64_t now_ns, CounterValues& values) {
    const bool slow_due = now_ns >= slow_due_ns_;
    if (slow_due) {
        slow_due_ns_ = now_ns + slow_every_ns;
    }
    for (const Part& part : parts_) {
        if (part.is_slow && !slow_due) {
            values.insert(slow_[part.name].begin(), slow_[part.name].end());
            continue;
        }
        problem_.clear();
        const std::size_t before = values.size();
        if (part.is_slow) {
            slow_[part.name].clear();
            (this->*part.read)(slow_[part.name]);
            values.insert(slow_[part.name].begin(), slow_[part.name].end());
        } else {
            (this->*part.read)(values);
        }
        if (values.size() > before && problem_.empty()) {
            missing_.erase(part.name);
        } else {
            const std::string why = !problem_.empty() ? problem_ : std::string(part.without);
            missing_.insert_or_assign(part.name, why.empty() ? "it is empty" : why);
        }
    }
}

std::string_view SystemCounters::content(const std::string& file) {
    text_.clear();
    const std::string path = (sources_.root / file).string();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        problem_ = "cannot read " + path + ": " + std::strerror(errno);
        return text_;
    }
    constexpr std::size_t piece = 16384;
    std::size_t size = 0;
    ssize_t got = 0;
    do {
        text_.resize(size + piece);
        got = ::read(fd, text_.data() + size, piece);
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    } while (got > 0 && size < most_file_bytes);
    if (got < 0) {
        problem_ = "cannot read " + path + ": " + std::strerror(errno);
    }
    text_.resize(size);
    ::close(fd);
    return text_;
}

bool SystemCounters::is_wanted(std::string_view interface) const {
    const auto& wanted = sources_.interfaces;
    return wanted.empty() || std::ranges::find(wanted, interface) != wanted.end();
}

std::vector<std::string> SystemCounters::present_interfaces() const {
    std::vector<std::string> names = interface_names(sources_.root);
    std::erase_if(names, [&](const std::string& name) { return !is_wanted(name); });
    return names;
}

void SystemCounters::read_cpu(CounterValues& values) {
    parse("proc/stat", values, parse_stat, parse_running);
}

void SystemCounters::read_load(CounterValues& values) { parse("proc/loadavg", values, parse_load); }

void SystemCounters::read_memory(CounterValues& values) {
    parse("proc/meminfo", values, parse_memory, parse_memory_uses);
}

void SystemCounters::read_paging(CounterValues& values) {
    parse("proc/vmstat", values, parse_paging, parse_placement);
}

void SystemCounters::read_interrupts(CounterValues& values) {
    parse("proc/interrupts", values, parse_interrupts);
}

void SystemCounters::read_softirqs(CounterValues& values) {
    parse("proc/softirqs", values, parse_softirqs, parse_softirqs_by_cpu);
}

void SystemCounters::read_softnet(CounterValues& values) {
    parse("proc/net/softnet_stat", values, parse_softnet, parse_softnet_by_cpu);
}

void SystemCounters::read_interfaces(CounterValues& values) {
    CounterValues found;
    parse_interfaces(content("proc/net/dev"), found);
    constexpr std::string_view prefix = "interface.";
    for (auto& [name, value] : found) {
        const std::size_t dot = name.rfind('.');
        const auto interface = std::string_view(name).substr(prefix.size(), dot - prefix.size());
        if (is_wanted(interface)) {
            if (name.ends_with(".rx_bytes") && sources_.root == "/") {
                // Another number is another device of that name: its counters began anew.
                values[joined({prefix, interface, ".index"})] =
                    ::if_nametoindex(std::string(interface).c_str());
            }
            values.emplace(name, value);
        }
    }
}

void SystemCounters::read_driver(CounterValues& values) {
    if (sources_.root == "/") {
        problem_ = driver_->read(present_interfaces(), values);
    }
}

void SystemCounters::read_queues(CounterValues& values) {
    if (sources_.root == "/") {
        problem_ = queues_->read([this](std::string_view name) { return is_wanted(name); }, values);
    }
}

void SystemCounters::read_protocols(CounterValues& values) {
    parse_protocols(content("proc/net/snmp"), "snmp", values);
    parse_protocols(content("proc/net/netstat"), "netstat", values);
    const std::string first_problem = std::exchange(problem_, "");
    parse_snmp6(content("proc/net/snmp6"), values);
    problem_ = first_problem; // a host may well do without IPv6
}

void SystemCounters::read_rdma(CounterValues& values) {
    problem_.clear(); // a host may well have none: no file is missed
    add_infiniband(sources_.root / "sys", values);
}

void SystemCounters::read_frequency(CounterValues& values) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> files{{
        {"cpufreq/scaling_cur_freq", "_khz"},
        {"thermal_throttle/core_throttle_count", ".core_throttled"},
        {"thermal_throttle/package_throttle_count", ".package_throttled"},
    }};
    const std::size_t before = values.size();
    for (const std::string& cpu : processors(sources_.root)) {
        for (const auto& [file, suffix] : files) {
            parse_number(content("sys/devices/system/cpu/cpu" + cpu + "/" + std::string(file)), 1,
                         joined({"frequency.", cpu, suffix}), values);
        }
    }
    if (values.size() > before) {
        problem_.clear();
    } else {
        problem_ = "the system tells neither frequency nor throttling of its CPUs";
    }
}

void SystemCounters::read_pressure(CounterValues& values) {
    for (const std::string_view resource : {"cpu", "io", "memory", "irq"}) {
        const std::string before = problem_;
        parse_pressure(content("proc/pressure/" + std::string(resource)), resource, values);
        if (resource == "irq") { // only where the kernel accounts for interrupts
            problem_ = before;
        }
    }
}

void SystemCounters::read_link(CounterValues& values) {
    for (const std::string& name : present_interfaces()) {
        const std::string device = "sys/class/net/" + name + "/device/";
        const std::string prefix = "link." + name;
        if (const auto speed = parse_link_speed(content(device + "current_link_speed"))) {
            values[prefix + ".speed_mt_per_s"] = *speed;
            parse_number(content(device + "current_link_width"), 1, prefix + ".lanes", values);
        }
    }
    problem_.clear();
}

} // namespace sonde
