// Parsers of the kernel's counter files, on texts as the kernel writes them.
#include <doctest/doctest.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "counters/facts.hpp"
#include "counters/parse.hpp"
#include "counters/routes.hpp"
#include "counters/snapshot.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("counters");

TEST_CASE("/proc/stat") {
    CounterValues values;
    parse_stat("cpu  10 20 30 40 50 60 70 80 90 100\n"
               "cpu0 1 2 3 4 5 6 7 8 9 10\n"
               "cpu12 7 0 0\n"
               "intr 100 1 2 3\n"
               "ctxt 200\n"
               "btime 1\n"
               "processes 300\n"
               "procs_running 1\n"
               "softirq 400 1 2\n",
               values);
    CHECK(values["cpu.all.user"] == 10);
    CHECK(values["cpu.all.guest_nice"] == 100);
    CHECK(values["cpu.0.steal"] == 8);
    CHECK(values["cpu.12.user"] == 7);
    CHECK(!values.contains("cpu.12.idle"));
    CHECK(values["system.interrupts"] == 100);
    CHECK(values["system.context_switches"] == 200);
    CHECK(values["system.processes"] == 300);
    CHECK(values["system.softirqs"] == 400);
}

TEST_CASE("/proc/interrupts: summed over CPUs, named by device or type") {
    CounterValues values;
    parse_interrupts("           CPU0       CPU1       \n"
                     "  0:          9          1   IO-APIC   2-edge      timer\n"
                     " 24:        100          5  PCI-MSIX-0000:00:01.0   0-edge      eth0-rx-0\n"
                     " 25:         10          0  PCI-MSIX-0000:00:01.0   1-edge      eth0-rx-0\n"
                     " 26:          3          4\n"
                     "NMI:          1          2   Non-maskable interrupts\n"
                     "LOC:       1000       2000   Local timer interrupts\n"
                     "ERR:          7\n",
                     values);
    CHECK(values["interrupt.timer"] == 10);
    CHECK(values["interrupt.eth0-rx-0"] == 115);
    CHECK(values["interrupt.26"] == 7);
    CHECK(values["interrupt.NMI"] == 3);
    CHECK(values["interrupt.LOC"] == 3000);
    CHECK(values["interrupt.ERR"] == 7);
    CHECK(values["interrupt_cpu.0.eth0-rx-0"] == 110); // two lines of one name
    CHECK(values["interrupt_cpu.1.eth0-rx-0"] == 5);
    CHECK(values["interrupt_cpu.1.timer"] == 1);
    CHECK(!values.contains("interrupt_cpu.0.LOC"));
}

TEST_CASE("/proc/interrupts: a line for each queue of a card, as drivers name them") {
    CounterValues values;
    parse_interrupts(
        "            CPU0       CPU1       CPU2       CPU3       \n"
        "  16:          7          0          0          0  IR-IO-APIC   16-fasteoi   i801_smbus, "
        "eth1\n"
        "  57:    1048576          0          3          0  IR-PCI-MSIX-0000:3b:00.0    0-edge     "
        " eth0-TxRx-0\n"
        "  58:          0    2097152          0          0  IR-PCI-MSIX-0000:3b:00.0    1-edge     "
        " eth0-TxRx-1\n"
        "  59:          0          0          0          1  IR-PCI-MSIX-0000:3b:00.0    2-edge     "
        " eth0\n"
        "  77:          0          0          0         12  IR-PCI-MSI 48758784-edge      "
        "mlx5_async0@pci:0000:5d:00.0\n"
        "  78:          0          0        900          0  IR-PCI-MSI 48758785-edge      "
        "mlx5_comp0@pci:0000:5d:00.0\n"
        "  79:          0          0          0        800  IR-PCI-MSI 48758786-edge      "
        "mlx5_comp1@pci:0000:5d:00.0\n"
        " 120:          0          0          0          0   PCI-MSI 49152-edge      "
        "virtio0-config\n"
        " 121:         50          0          0          0   PCI-MSI 49153-edge      "
        "virtio0-input.0\n"
        " 122:          0         60          0          0   PCI-MSI 49154-edge      "
        "virtio0-output.0\n"
        " LOC:  100  100  100  100   Local timer interrupts\n",
        values);
    CHECK(values["interrupt.eth1"] == 7);
    CHECK(values["interrupt.eth0-TxRx-0"] == 1048579);
    CHECK(values["interrupt.eth0-TxRx-1"] == 2097152);
    CHECK(values["interrupt.eth0"] == 1);
    CHECK(values["interrupt_cpu.0.eth0-TxRx-0"] == 1048576);
    CHECK(values["interrupt_cpu.2.eth0-TxRx-0"] == 3);
    CHECK(values["interrupt.mlx5_async0@pci:0000:5d:00.0"] == 12);
    CHECK(values["interrupt.mlx5_comp0@pci:0000:5d:00.0"] == 900);
    CHECK(values["interrupt_cpu.3.mlx5_comp1@pci:0000:5d:00.0"] == 800);
    CHECK(values["interrupt.virtio0-input.0"] == 50);
    CHECK(values["interrupt.virtio0-output.0"] == 60);
    CHECK(values.contains("interrupt.virtio0-config")); // a queue without any is there, too
    CHECK(values["interrupt.virtio0-config"] == 0);
}

TEST_CASE("/proc/interrupts by CPU: not zero, and bounded") {
    CounterValues values;
    parse_interrupts("  CPU0  CPU3\n 24:  0  5  PCI  eth0\n", values);
    CHECK(values["interrupt_cpu.3.eth0"] == 5);
    CHECK(!values.contains("interrupt_cpu.0.eth0"));
    values.clear();
    std::string many = "  CPU0\n";
    for (int line = 0; line < 5000; ++line) {
        const std::string number = std::to_string(line);
        many += number + ": 1 PCI device" + number + "\n";
    }
    parse_interrupts(many, values);
    CHECK(values.size() == 5000 + 4096);
}

TEST_CASE("/proc/vmstat: pages and swap") {
    CounterValues values;
    parse_paging("nr_free_pages 7\npgpgin 3\npgpgout 4\npswpin 5\npswpout 6\npgpgin\n", values);
    CHECK(values["memory.paged_in_bytes"] == 3 * 1024);
    CHECK(values["memory.paged_out_bytes"] == 4 * 1024);
    CHECK(values["memory.swapped_in_pages"] == 5);
    CHECK(values["memory.swapped_out_pages"] == 6);
    CHECK(values.size() == 4);
}

TEST_CASE("/proc/softirqs") {
    CounterValues values;
    parse_softirqs("                    CPU0       CPU1       \n"
                   "          HI:          1          0\n"
                   "      NET_RX:        100         11\n",
                   values);
    CHECK(values["softirq.NET_RX"] == 111);
    CHECK(values["softirq.HI"] == 1);
}

TEST_CASE("/proc/net/dev, with names that touch their numbers") {
    CounterValues values;
    parse_interfaces("Inter-|   Receive                            |  Transmit\n"
                     " face |bytes    packets errs drop|bytes    packets\n"
                     "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                     "eth0:100 200 0 0 0 0 0 0 300 400 0 1 0 0 0 0\n"
                     "eth0:1: 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n",
                     values);
    CHECK(values["interface.lo.rx_bytes"] == 1);
    CHECK(values["interface.lo.tx_bytes"] == 9);
    CHECK(values["interface.lo.tx_compressed"] == 16);
    CHECK(values["interface.eth0.rx_packets"] == 200);
    CHECK(values["interface.eth0.tx_packets"] == 400);
    CHECK(values["interface.eth0.tx_dropped"] == 1);
    CHECK(values["interface.eth0:1.tx_bytes"] == 7);
}

TEST_CASE("/proc/net/snmp and netstat: names above values") {
    CounterValues values;
    parse_protocols("Ip: Forwarding DefaultTTL InReceives\n"
                    "Ip: 1 64 1000\n"
                    "Tcp: RtoAlgorithm MaxConn RetransSegs\n"
                    "Tcp: 1 -1 17\n",
                    "snmp", values);
    CHECK(values["snmp.Ip.InReceives"] == 1000);
    CHECK(values["snmp.Tcp.MaxConn"] == -1);
    CHECK(values["snmp.Tcp.RetransSegs"] == 17);
    values.clear();
    parse_protocols("TcpExt: A B\nIpExt: 1 2\n", "netstat", values);
    CHECK(values.empty());
}

TEST_CASE("/proc/net/snmp6") {
    CounterValues values;
    parse_snmp6("Ip6InReceives                   \t42\nUdp6InErrors                    \t0\n",
                values);
    CHECK(values["snmp6.Ip6InReceives"] == 42);
    CHECK(values["snmp6.Udp6InErrors"] == 0);
}

TEST_CASE("/proc/net/softnet_stat is hexadecimal") {
    CounterValues values;
    parse_softnet("000000ff 00000001 00000002 00000000\n00000001 00000010 00000000 00000000\n",
                  values);
    CHECK(values["softnet.processed"] == 256);
    CHECK(values["softnet.dropped"] == 17);
    CHECK(values["softnet.squeezed"] == 2);
}

TEST_CASE("sums of counters that are too large wrap as the counters do") {
    CounterValues values;
    parse_softnet("8000000000000000 0 0\n8000000000000001 0 0\n", values);
    CHECK(values["softnet.processed"] == 1);
    parse_interrupts("           CPU0       CPU1\n"
                     "  0: 9223372036854775807 9223372036854775807   IO-APIC   timer\n",
                     values);
    CHECK(values["interrupt.timer"] == -2);
}

TEST_CASE("/proc/meminfo and /proc/loadavg") {
    CounterValues values;
    parse_memory("MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\n"
                 "SwapTotal:  20 kB\nSwapFree:  10 kB\n",
                 values);
    parse_load("1.25 0.50 0.10 1/200 12345\n", values);
    CHECK(values["memory.total_bytes"] == 1024 * 1024);
    CHECK(values["memory.available_bytes"] == 512 * 1024);
    CHECK(values["memory.swap_total_bytes"] == 20 * 1024);
    CHECK(values["memory.swap_free_bytes"] == 10 * 1024);
    CHECK(values["load.one_minute_milli"] == 1250);
}

TEST_CASE("a file of one number") {
    CounterValues values;
    parse_number("25\n", 4, "words", values);
    parse_number("7", 1, "bare", values);
    parse_number("18446744073709551615\n", 4, "full", values);
    for (const std::string_view text : {"", "\n", "N/A (no PMA)\n", "1 2\n", "-\n"}) {
        parse_number(text, 1, "none", values);
    }
    CHECK(values == CounterValues{{"words", 100}, {"bare", 7}, {"full", -4}});
}

TEST_CASE("texts that are empty, cut or wrong add nothing and break nothing") {
    for (const std::string_view text :
         {"", "\n\n", ":", "cpu", "cpu x", "Tcp:", "a: b\na: c", "12:", "LOC: x", "lo:"}) {
        CounterValues values;
        parse_stat(text, values);
        parse_interrupts(text, values);
        parse_interfaces(text, values);
        parse_protocols(text, "snmp", values);
        parse_memory(text, values);
        parse_paging(text, values);
        parse_load(text, values);
        INFO(text);
        CHECK(values.empty());
    }
}

TEST_CASE("a snapshot of this host") {
    const Snapshot first = take_snapshot();
    const Snapshot second = take_snapshot();
    CHECK(first.cost_ns > 0);
    CHECK(second.time_ns - second.cost_ns >= first.time_ns);
    for (const char* name : {"system.jiffies_per_s", "process.minor_faults"}) {
        CHECK(first.values.contains(name));
    }
    if (first.values.contains("system.context_switches")) {
        CHECK(second.values.at("system.context_switches") >=
              first.values.at("system.context_switches"));
    }
}

TEST_CASE("a snapshot without the system's counters has the worker's own") {
    CounterSources sources;
    sources.system = false;
    const OwnTraffic own{[] { return CounterValues{{"connection.test.segs_out", 3}}; }, "eth0"};
    const Snapshot snapshot = take_snapshot(own, sources);
    CHECK(snapshot.values.at("connection.test.segs_out") == 3);
    CHECK(snapshot.values.contains("process.user_ns"));
    for (const auto& [name, value] : snapshot.values) {
        CHECK((name.starts_with("process.") || name.starts_with("connection.")));
    }
}

TEST_CASE("own connections are read again while they and the interface disagree") {
    int reads = 0;
    const OwnTraffic own{[&] {
                             ++reads;
                             // Still moving for the first three readings.
                             return CounterValues{{"connection.test.segs_out", std::min(reads, 4)}};
                         },
                         "no-such-device"};
    const Snapshot snapshot = take_snapshot(own);
    CHECK(snapshot.values.at("connection.test.segs_out") == 4);
    CHECK(reads == 5);
}

TEST_CASE("own connections that never rest are read a bounded number of times") {
    int reads = 0;
    const OwnTraffic own{[&] { return CounterValues{{"connection.test.segs_out", ++reads}}; }, ""};
    (void)take_snapshot(own);
    CHECK(reads == 11);
}

TEST_CASE("a route's least time-out and window are read, and nothing of a shortened message") {
    struct {
        rtmsg route;
        rtattr metrics;
        rtattr window;
        std::uint32_t window_bytes;
        rtattr rto_min;
        std::uint32_t milliseconds;
    } message{};
    message.metrics = {.rta_len = 4 + 16, .rta_type = RTA_METRICS | NLA_F_NESTED};
    message.window = {.rta_len = 8, .rta_type = RTAX_WINDOW};
    message.rto_min = {.rta_len = 8, .rta_type = RTAX_RTO_MIN};
    message.window_bytes = 15'000;
    message.milliseconds = 50;
    const auto bytes = std::as_bytes(std::span(&message, 1));
    CHECK(settings_of_route(bytes).rto_min_ms == 50);
    CHECK(settings_of_route(bytes).window_bytes == 15'000);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK(!settings_of_route(bytes.first(size)).rto_min_ms);
        CHECK(!settings_of_route(bytes.first(size)).window_bytes);
    }
    message.rto_min.rta_type = RTAX_RTT;
    CHECK(!settings_of_route(bytes).rto_min_ms);
    message.window_bytes = 0;
    CHECK(!settings_of_route(bytes).window_bytes);
}

TEST_CASE("facts are flat and scalar, and hold no keys") {
    const auto facts = host_facts();
    CHECK(facts.at("page_bytes") == ::sysconf(_SC_PAGESIZE));
    CHECK(facts.contains("cpu.allowed"));
    for (const auto& [name, value] : facts.items()) {
        CHECK(value.is_primitive());
        CHECK(name.find("_key") == std::string::npos);
    }
}

TEST_SUITE_END();
