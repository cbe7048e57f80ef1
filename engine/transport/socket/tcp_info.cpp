#include "transport/socket/tcp_info.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace sonde {
namespace {

// Samples beyond this are not taken; at the default interval of 100 ms that is more than an hour.
constexpr std::int64_t most_looks = 1LL << 16U;

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
    {"rtt", &tcp_info::tcpi_rtt},
    {"rttvar", &tcp_info::tcpi_rttvar},
    {"min_rtt", &tcp_info::tcpi_min_rtt},
    {"snd_cwnd", &tcp_info::tcpi_snd_cwnd},
    {"snd_ssthresh", &tcp_info::tcpi_snd_ssthresh},
    {"snd_mss", &tcp_info::tcpi_snd_mss},
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
    return values;
}

TcpInfoObserver::TcpInfoObserver(int fd, std::int64_t interval_ns, std::int64_t longest_ns,
                                 const Timebase& timebase)
    : fd_(fd), interval_ticks_(timebase.to_ticks(interval_ns)),
      time_(static_cast<std::size_t>(std::min(longest_ns / interval_ns + 2, most_looks))),
      retransmits_(time_.capacity()), congestion_window_bytes_(time_.capacity()),
      round_trip_ns_(time_.capacity()), delivery_rate_(time_.capacity()) {}

void TcpInfoObserver::look(std::uint64_t now) noexcept {
    next_ticks_ = now + interval_ticks_;
    if (time_.full()) {
        return;
    }
    const TcpInfo info = TcpInfo::of(fd_);
    time_.push(now);
    retransmits_.push(info.values.tcpi_total_retrans);
    congestion_window_bytes_.push(std::uint64_t{info.values.tcpi_snd_cwnd} *
                                  info.values.tcpi_snd_mss);
    round_trip_ns_.push(std::uint64_t{info.values.tcpi_rtt} * 1'000);
    delivery_rate_.push(info.values.tcpi_delivery_rate * 8);
}

void TcpInfoObserver::report(Result& result, const Timebase& timebase) const {
    std::vector<std::int64_t> times;
    for (const std::uint64_t ticks : time_.values()) {
        times.push_back(timebase.to_ns(ticks) - result.counters.at("start_ns"));
    }
    result.series.push_back({"tcp_info_time_ns", "ns", std::move(times)});
    result.series.push_back({"tcp_info_retransmits", "count", plain(retransmits_)});
    result.series.push_back(
        {"tcp_info_congestion_window_bytes", "bytes", plain(congestion_window_bytes_)});
    result.series.push_back({"tcp_info_round_trip_ns", "ns", plain(round_trip_ns_)});
    result.series.push_back(
        {"tcp_info_delivery_rate_bit_per_s", "bit_per_s", plain(delivery_rate_)});
}

} // namespace sonde
