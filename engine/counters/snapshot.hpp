// The system's counters at one instant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/records.hpp"
#include "counters/parse.hpp"

namespace sonde {

struct Snapshot {
    CounterValues values;
    std::int64_t time_ns = 0; // monotonic clock when the reading ended
    std::int64_t cost_ns = 0;
};

// The worker's own connections, whose counters are to be of the same instant as the interface's.
struct OwnTraffic {
    std::function<CounterValues()> counters; // connection.*; may be empty
    std::string interface;                   // by which they leave; may be empty
};

// A TAP device counts a frame when its reader takes it, not when it is sent; this waits for that.
// Returns at once for other devices.
void await_late_counters(const OwnTraffic& own);

// What a snapshot is taken of.
struct CounterSources {
    bool system = true; // false: only what the worker and its own connections used, from no file
    std::string sysfs = "/sys";
};

// What cannot be read is left out.
[[nodiscard]] Snapshot take_snapshot(const OwnTraffic& own = {},
                                     const CounterSources& sources = {});

// How often retransmission timers of this host ran out (TCPTimeouts); none where it does not say.
[[nodiscard]] std::optional<std::int64_t> retransmission_time_outs();

void write_snapshot(RecordWriter& records, std::int64_t request, std::string_view phase,
                    const Snapshot& snapshot);

// The content of a small file; empty where it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

} // namespace sonde
