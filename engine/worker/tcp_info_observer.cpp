#include "worker/tcp_info_observer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/socket/tcp_info.hpp"

namespace sonde {
namespace {

// Samples beyond this are not taken; at the default interval of 100 ms that is more than an hour.
constexpr std::int64_t most_looks = 1LL << 16U;

} // namespace

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
