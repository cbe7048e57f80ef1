#include "counters/snapshot.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "core/clock.hpp"
#include "counters/infiniband.hpp"
#include "counters/queueing.hpp"
#include "counters/withheld.hpp"

namespace sonde {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{8} << 20U;

// How often the scheduler put this thread on another CPU; kernels without the debugging of
// their scheduler do not say it.
void add_migrations(CounterValues& values) {
    constexpr std::string_view name = "se.nr_migrations";
    const std::string text = read_file("/proc/thread-self/sched");
    const std::size_t found = text.find(name);
    const std::size_t begin = found == std::string::npos ? found : text.find(':', found);
    if (begin == std::string::npos) {
        return;
    }
    const std::size_t digit = text.find_first_not_of(" \t", begin + 1);
    std::int64_t count = 0;
    if (digit != std::string::npos &&
        std::from_chars(text.data() + digit, text.data() + text.size(), count).ec == std::errc{}) {
        values["process.migrations"] = count;
    }
}

void add_process(CounterValues& values) {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) {
        return;
    }
    const auto ns = [](const timeval& time) {
        return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1'000;
    };
    values["process.user_ns"] = ns(usage.ru_utime);
    values["process.system_ns"] = ns(usage.ru_stime);
    values["process.voluntary_switches"] = usage.ru_nvcsw;
    values["process.involuntary_switches"] = usage.ru_nivcsw;
    values["process.minor_faults"] = usage.ru_minflt;
    values["process.major_faults"] = usage.ru_majflt;
    add_migrations(values);
}

CounterValues read_interfaces() {
    CounterValues values;
    parse_interfaces(read_file("/proc/net/dev"), values);
    return values;
}

// What passed the device, and what passed the connections: equal twice in a row means that nothing
// was on its way between the two in between.
bool same_traffic(const CounterValues& one, const CounterValues& other,
                  std::string_view interface) {
    std::string prefix("interface.");
    prefix += interface;
    prefix += '.';
    return std::ranges::all_of(one, [&](const auto& entry) {
        const auto& [name, value] = entry;
        const bool counts = name.starts_with(prefix) || name.find("segs_") != std::string::npos;
        const auto there = other.find(name);
        return !counts || (there != other.end() && there->second == value);
    });
}

void add_own(const OwnTraffic& own, CounterValues& values) {
    constexpr int most_attempts = 10; // beside other traffic they may never agree
    CounterValues interfaces = read_interfaces();
    if (own.counters) {
        CounterValues connections = own.counters();
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            CounterValues interfaces_again = read_interfaces();
            CounterValues connections_again = own.counters();
            const bool agree = same_traffic(interfaces, interfaces_again, own.interface) &&
                               same_traffic(connections, connections_again, own.interface);
            interfaces = std::move(interfaces_again);
            connections = std::move(connections_again);
            if (agree) {
                break;
            }
        }
        values.merge(connections);
    }
    values.merge(interfaces);
}

void add_system(const OwnTraffic& own, const CounterSources& sources, CounterValues& values) {
    parse_stat(read_file("/proc/stat"), values);
    parse_interrupts(read_file("/proc/interrupts"), values);
    parse_softirqs(read_file("/proc/softirqs"), values);
    parse_softnet(read_file("/proc/net/softnet_stat"), values);
    parse_memory(read_file("/proc/meminfo"), values);
    parse_paging(read_file("/proc/vmstat"), values);
    parse_load(read_file("/proc/loadavg"), values);
    values["system.jiffies_per_s"] = ::sysconf(_SC_CLK_TCK);
    add_process(values);
    parse_protocols(read_file("/proc/net/snmp"), "snmp", values);
    parse_protocols(read_file("/proc/net/netstat"), "netstat", values);
    parse_snmp6(read_file("/proc/net/snmp6"), values);
    add_withheld(values);
    add_queueing(values);
    add_infiniband(sources.sysfs, values);
    add_own(own, values);
}

} // namespace

std::string read_file(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    std::string text;
    if (fd < 0) {
        return text;
    }
    std::array<char, 16384> piece{};
    ssize_t got = 0;
    while (text.size() < most_file_bytes && (got = ::read(fd, piece.data(), piece.size())) > 0) {
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    ::close(fd);
    return text;
}

void await_late_counters(const OwnTraffic& own) {
    constexpr timespec reading{0, 3'000'000};
    const std::string flags = "/sys/class/net/" + own.interface + "/tun_flags";
    if (!own.interface.empty() && ::access(flags.c_str(), F_OK) == 0) {
        ::nanosleep(&reading, nullptr);
    }
}

Snapshot take_snapshot(const OwnTraffic& own, const CounterSources& sources) {
    Snapshot snapshot;
    const std::int64_t begin_ns = monotonic_ns();
    if (sources.system) {
        add_system(own, sources, snapshot.values);
    } else {
        add_process(snapshot.values);
        if (own.counters) {
            snapshot.values.merge(own.counters());
        }
    }
    const std::int64_t end_ns = monotonic_ns();
    snapshot.time_ns = host_clock_ns(end_ns);
    snapshot.cost_ns = end_ns - begin_ns;
    return snapshot;
}

std::optional<std::int64_t> retransmission_time_outs() {
    CounterValues values;
    parse_protocols(read_file("/proc/net/netstat"), "netstat", values);
    const auto found = values.find("netstat.TcpExt.TCPTimeouts");
    return found != values.end() ? std::optional(found->second) : std::nullopt;
}

void write_snapshot(RecordWriter& records, std::int64_t request, std::string_view phase,
                    const Snapshot& snapshot) {
    records.snapshot(request, phase, snapshot.time_ns, snapshot.cost_ns, snapshot.values);
}

} // namespace sonde
