#include "worker/offers.hpp"

#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "core/descriptor.hpp"
#include "kernel_trace/kernel_trace.hpp"
#include "transport/socket/uring.hpp"

namespace sonde {
namespace {

using nlohmann::json;

// Not in every libc's headers.
constexpr int multipath_tcp = 262;
constexpr int level_udp = 17;
constexpr int udp_segment = 103;
constexpr int udp_receive_offload = 104;
constexpr int zerocopy = 60;
constexpr int busy_poll = 46;
constexpr int pacing_rate = 47;
constexpr int time_stamps = 37;
constexpr int software_stamps = 0x1a; // of sending and receiving, by software, and reported
constexpr int xdp_family = 44;
constexpr int every_protocol = 0x0300; // ETH_P_ALL in network order

std::string reason() { return std::strerror(errno); }

std::string by_socket(int family, int type, int protocol) {
    const Descriptor made(::socket(family, type | SOCK_CLOEXEC, protocol));
    return made ? "" : reason();
}

struct ByOption {
    const char* name;
    int type;
    int level;
    int option;
    int value;
};
constexpr std::array by_option{
    ByOption{"zerocopy", SOCK_STREAM, SOL_SOCKET, zerocopy, 1},
    ByOption{"segment_offload", SOCK_DGRAM, level_udp, udp_segment, 1000},
    ByOption{"receive_offload", SOCK_DGRAM, level_udp, udp_receive_offload, 1},
    ByOption{"pacing", SOCK_STREAM, SOL_SOCKET, pacing_rate, 1'000'000},
    ByOption{"busy_poll", SOCK_DGRAM, SOL_SOCKET, busy_poll, 50},
    ByOption{"kernel_times", SOCK_DGRAM, SOL_SOCKET, time_stamps, software_stamps},
};

std::string refusal(const ByOption& offer) {
    const Descriptor made(::socket(AF_INET, offer.type | SOCK_CLOEXEC, 0));
    if (!made || ::setsockopt(made.get(), offer.level, offer.option, &offer.value,
                              sizeof offer.value) != 0) {
        return reason();
    }
    return "";
}

std::string without_ipv6() {
    const Descriptor made(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 loopback{};
    loopback.sin6_family = AF_INET6;
    loopback.sin6_addr = IN6ADDR_LOOPBACK_INIT;
    if (!made ||
        ::bind(made.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) != 0) {
        return reason();
    }
    return "";
}

// In a thread of its own, which ends with it.
std::string without_real_time() {
    std::string why;
    std::thread([&why] {
        const sched_param lowest{.sched_priority = 1};
        if (::sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) {
            why = reason();
        }
    }).join();
    return why;
}

std::string without_cycle_counters() {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.size = sizeof wanted;
    wanted.config = PERF_COUNT_HW_CPU_CYCLES;
    wanted.exclude_kernel = 1;
    const Descriptor counter(
        static_cast<int>(::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0)));
    return counter ? "" : reason();
}

std::string without_kernel_trace() {
    KernelTraceMissing missing;
    if (load_kernel_trace(missing)) {
        return "";
    }
    return missing.detail.empty() ? missing.reason : missing.reason + ": " + missing.detail;
}

} // namespace

json answer_offers(Request& request) {
    request.fields.finish();
    json offers{{"ipv6", without_ipv6()},
                {"multipath_tcp", by_socket(AF_INET, SOCK_STREAM, multipath_tcp)},
                {"icmp_echoes", by_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)},
                {"raw_sockets", by_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)},
                {"packet_sockets", by_socket(AF_PACKET, SOCK_RAW, every_protocol)},
                {"express_data_path", by_socket(xdp_family, SOCK_RAW, 0)},
                {"io_uring", uring_refusal().value_or("")},
                {"real_time", without_real_time()},
                {"cycle_counters", without_cycle_counters()},
                {"depth", without_kernel_trace()}};
    for (const ByOption& offer : by_option) {
        offers[offer.name] = refusal(offer);
    }
    return offers;
}

} // namespace sonde
