// UDP traffic between hosts, made by one thread: to fill a fabric for a known time or with a known
// number of frames.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"

namespace sonde {

struct LoadFlow {
    pid_t from = 0; // a process in the sending host
    std::string address;
    std::uint16_t port = 0;
    std::uint64_t frames = 0;      // so many as fast as they go; 0: paced
    std::int64_t frames_per_s = 0; // paced
};

struct LoadPlan {
    std::vector<LoadFlow> flows;
    std::vector<pid_t> sinks; // hosts that take what comes to the port
    std::uint16_t port = 0;
    std::size_t payload_bytes = 1472;
    std::int64_t duration_ns = 0;
    std::optional<int> cpu; // that it is made on
};

// Throws Failure("bad_request").
[[nodiscard]] LoadPlan read_load(Fields fields);
// {"sent": [frames of each flow], "elapsed_ns": ..., "cpu_ns": CPU time of this thread, the
// sending hosts' half of the kernel in it}. Throws Failure.
[[nodiscard]] nlohmann::json make_load(const LoadPlan& plan);

} // namespace sonde
