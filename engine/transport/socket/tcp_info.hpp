// TCP_INFO of a connection, with only the fields that the running kernel knows.
#pragma once

#include <linux/tcp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/synchronise.hpp"

namespace sonde {

struct TcpInfo {
    tcp_info values{};
    std::size_t known_bytes = 0;

    // known_bytes is 0 where fd is no TCP connection.
    static TcpInfo of(int fd) noexcept;
};

// The counters of a connection by their names in snapshots, without the prefix.
[[nodiscard]] std::map<std::string, std::int64_t> connection_counters(const TcpInfo& info);

// Looks at TCP_INFO between the messages of a stream, every interval, as a PathObserver.
class TcpInfoObserver {
public:
    static constexpr bool active = true;

    TcpInfoObserver(int fd, std::int64_t interval_ns, std::int64_t longest_ns,
                    const Timebase& timebase);

    void at(std::uint64_t now) noexcept {
        if (now >= next_ticks_) [[unlikely]] {
            look(now);
        }
    }
    // Adds the tcp_info_* series.
    void report(Result& result, const Timebase& timebase) const;

private:
    void look(std::uint64_t now) noexcept;

    int fd_;
    std::uint64_t interval_ticks_;
    std::uint64_t next_ticks_ = 0;
    Samples time_;
    Samples retransmits_;
    Samples congestion_window_bytes_;
    Samples round_trip_ns_;
    Samples delivery_rate_;
};

} // namespace sonde
