#include "counters/infiniband.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "counters/snapshot.hpp"

namespace sonde {
namespace {

namespace fs = std::filesystem;

// Some cards ask their firmware for each counter, so few are read.
constexpr std::size_t most_ports = 64;
constexpr std::size_t most_name_characters = 64;

struct PortCounter {
    std::string_view file;
    std::string_view name;
    std::int64_t unit; // the kernel counts data in words of four bytes, whatever the lanes
};

constexpr std::array<PortCounter, 20> port_counters{{
    {"counters/port_xmit_data", "tx_bytes", 4},
    {"counters/port_rcv_data", "rx_bytes", 4},
    {"counters/port_xmit_packets", "tx_packets", 1},
    {"counters/port_rcv_packets", "rx_packets", 1},
    {"counters/port_xmit_discards", "port_xmit_discards", 1},
    {"counters/port_xmit_wait", "port_xmit_wait", 1},
    {"counters/port_rcv_errors", "port_rcv_errors", 1},
    {"counters/port_rcv_constraint_errors", "port_rcv_constraint_errors", 1},
    {"counters/port_xmit_constraint_errors", "port_xmit_constraint_errors", 1},
    {"counters/symbol_error", "symbol_error", 1},
    {"counters/link_error_recovery", "link_error_recovery", 1},
    {"counters/link_downed", "link_downed", 1},
    {"counters/local_link_integrity_errors", "local_link_integrity_errors", 1},
    {"counters/excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", 1},
    {"counters/VL15_dropped", "VL15_dropped", 1},
    // What a reliable connection had to repeat, as far as the card says.
    {"hw_counters/out_of_sequence", "out_of_sequence", 1},
    {"hw_counters/packet_seq_err", "packet_seq_err", 1},
    {"hw_counters/local_ack_timeout_err", "local_ack_timeout_err", 1},
    {"hw_counters/rnr_nak_retry_err", "rnr_nak_retry_err", 1},
    {"hw_counters/np_cnp_sent", "np_cnp_sent", 1},
}};

bool is_plain(const std::string& name) {
    return !name.empty() && name.size() <= most_name_characters &&
           std::ranges::all_of(
               name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

// The names in a directory, in order; empty where it cannot be read.
std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end;
         !error && entry != end && names.size() < most_ports; entry.increment(error)) {
        if (std::string name = entry->path().filename().string(); is_plain(name)) {
            names.push_back(std::move(name));
        }
    }
    std::ranges::sort(names);
    return names;
}

void add_port(const fs::path& port, const std::string& prefix, CounterValues& values) {
    for (const PortCounter& counter : port_counters) {
        parse_number(read_file((port / counter.file).string()), counter.unit,
                     prefix + std::string(counter.name), values);
    }
}

} // namespace

void add_infiniband(const fs::path& sysfs, CounterValues& values) {
    const fs::path devices = sysfs / "class" / "infiniband";
    std::size_t ports_read = 0;
    for (const std::string& device : names_in(devices)) {
        const fs::path ports = devices / device / "ports";
        for (const std::string& port : names_in(ports)) {
            if (ports_read++ == most_ports) {
                return;
            }
            add_port(ports / port, "infiniband." + device + "." + port + ".", values);
        }
    }
}

} // namespace sonde
