// TCP_INFO in the course of a stream, for which the test knows no name and the transport no result.
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"

namespace sonde {

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
