// What the queue disciplines of interfaces passed on, dropped and hold, asked of the kernel by
// netlink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "counters/parse.hpp"

namespace sonde {

class QueueCounters {
public:
    // Adds qdisc.INTERFACE.KIND@PARENT.{packets,bytes,drops,requeues,overlimits,backlog_bytes,
    // queue_packets} of the interfaces that are wanted. Returns what went wrong, or nothing.
    std::string read(const std::function<bool(std::string_view)>& is_wanted, CounterValues& values);

private:
    Descriptor socket_;
    std::uint32_t sequence_ = 0;
};

} // namespace sonde
