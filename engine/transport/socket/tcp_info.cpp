#include "transport/socket/tcp_info.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string_view>

namespace sonde {
namespace {

template <class Number>
struct Member {
    std::string_view name;
    Number tcp_info::*field;
};

constexpr auto short_members = std::to_array<Member<__u32>>({
    {"unacked", &tcp_info::tcpi_unacked},
    {"lost", &tcp_info::tcpi_lost},
    {"retrans", &tcp_info::tcpi_retrans},
    {"total_retrans", &tcp_info::tcpi_total_retrans},
    {"rto", &tcp_info::tcpi_rto},
    {"rtt", &tcp_info::tcpi_rtt},
    {"rttvar", &tcp_info::tcpi_rttvar},
    {"min_rtt", &tcp_info::tcpi_min_rtt},
    {"snd_cwnd", &tcp_info::tcpi_snd_cwnd},
    {"snd_ssthresh", &tcp_info::tcpi_snd_ssthresh},
    {"snd_mss", &tcp_info::tcpi_snd_mss},
    {"snd_wnd", &tcp_info::tcpi_snd_wnd},
    {"rcv_mss", &tcp_info::tcpi_rcv_mss},
    {"rcv_space", &tcp_info::tcpi_rcv_space},
    {"pmtu", &tcp_info::tcpi_pmtu},
    {"segs_out", &tcp_info::tcpi_segs_out},
    {"segs_in", &tcp_info::tcpi_segs_in},
    {"data_segs_out", &tcp_info::tcpi_data_segs_out},
    {"data_segs_in", &tcp_info::tcpi_data_segs_in},
    {"delivered", &tcp_info::tcpi_delivered},
    {"delivered_ce", &tcp_info::tcpi_delivered_ce},
    {"dsack_dups", &tcp_info::tcpi_dsack_dups},
    {"reord_seen", &tcp_info::tcpi_reord_seen},
});

constexpr auto long_members = std::to_array<Member<__u64>>({
    {"bytes_acked", &tcp_info::tcpi_bytes_acked},
    {"bytes_received", &tcp_info::tcpi_bytes_received},
    {"bytes_sent", &tcp_info::tcpi_bytes_sent},
    {"bytes_retrans", &tcp_info::tcpi_bytes_retrans},
    {"busy_time", &tcp_info::tcpi_busy_time},
    {"rwnd_limited", &tcp_info::tcpi_rwnd_limited},
    {"sndbuf_limited", &tcp_info::tcpi_sndbuf_limited},
});

// Whether the kernel filled the field in: an older one returns a shorter structure.
template <class Number>
bool known(const TcpInfo& info, Number tcp_info::*field) {
    const auto* begin = reinterpret_cast<const std::byte*>(&info.values);
    const auto* end = reinterpret_cast<const std::byte*>(&(info.values.*field)) + sizeof(Number);
    return static_cast<std::size_t>(end - begin) <= info.known_bytes;
}

template <class Members>
void add_known(std::map<std::string, std::int64_t>& values, const TcpInfo& info,
               const Members& members) {
    for (const auto& [name, field] : members) {
        if (known(info, field)) {
            values.emplace(name, static_cast<std::int64_t>(info.values.*field));
        }
    }
}

} // namespace

TcpInfo TcpInfo::of(int fd) noexcept {
    TcpInfo info;
    socklen_t size = sizeof info.values;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info.values, &size) == 0) {
        info.known_bytes = size;
    }
    return info;
}

std::map<std::string, std::int64_t> connection_counters(const TcpInfo& info) {
    std::map<std::string, std::int64_t> values;
    add_known(values, info, short_members);
    add_known(values, info, long_members);
    if (info.known_bytes > 0) { // what both ends agreed on, bits of the kernel's TCPI_OPT_
        values.emplace("options", info.values.tcpi_options);
        values.emplace("send_window_scale", info.values.tcpi_snd_wscale);
        values.emplace("receive_window_scale", info.values.tcpi_rcv_wscale);
    }
    return values;
}

} // namespace sonde
