// What a fabric is made of: switches in a tree, hosts at its ports, links with two directions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "fabric/burst_loss.hpp"

namespace sonde {

constexpr std::size_t most_hosts = 256;
constexpr std::size_t most_switches = 64;
constexpr std::size_t most_ports = 128; // of one switch

enum class Architecture : std::uint8_t { input, output, shared };

// How much a buffer holds, in packets or in bytes of frames; a limit that is not given holds all.
struct Capacity {
    std::optional<std::int64_t> packets;
    std::optional<std::int64_t> bytes;
};

// 802.3x: a port asks its link to pause when what came by it fills so many places of the switch.
struct PauseMarks {
    std::int64_t high_packets = 0;
    std::int64_t low_packets = 0;
};

struct SwitchPlan {
    std::string name;
    Architecture architecture = Architecture::output;
    Capacity capacity; // of each port, or of the whole switch where it is shared
    Capacity port_cap; // shared: what one output may have of it
    bool cut_through = false;
    std::int64_t latency_ns = 0;
    std::optional<PauseMarks> pause;
};

enum class JitterShape : std::uint8_t { none, uniform, normal, exponential, pareto };

struct Jitter {
    JitterShape shape = JitterShape::none;
    std::int64_t mean_ns = 0;
    std::int64_t deviation_ns = 0; // normal
    double tail_index = 3.0;       // pareto
    bool keep_order = true;
};

// One direction of a link.
struct LinePlan {
    std::int64_t rate_bit_per_s = 1'000'000'000;
    std::int64_t delay_ns = 0;
    std::int64_t mtu_bytes = 1500;
    double loss_ratio = 0.0;
    std::optional<BurstLoss> burst;
    std::int64_t loss_every = 0; // every n-th frame; 0: none
    double bit_error_ratio = 0.0;
    double duplicate_ratio = 0.0;
    double reorder_ratio = 0.0;
    std::int64_t reorder_delay_ns = 0;
    Jitter jitter;
};

// From a host or a switch up to a switch. `up` is the direction towards that switch.
struct LinkPlan {
    std::string name;
    std::string lower; // a host or a switch
    std::string upper; // a switch
    bool from_host = false;
    LinePlan up;
    LinePlan down;
    Capacity lower_capacity; // of this link's port at the lower switch, where it differs
    Capacity upper_capacity; // and at the upper one
};

struct Topology {
    std::uint64_t seed = 1;
    std::vector<std::string> hosts;
    std::vector<SwitchPlan> switches;
    std::vector<LinkPlan> links;

    // The largest payload that any line takes.
    [[nodiscard]] std::int64_t most_mtu_bytes() const noexcept;
};

// Each throws Failure("bad_request") naming what is wrong. A topology is a tree that joins all
// its hosts: a loop would flood for ever.
[[nodiscard]] Topology read_topology(Fields fields);
// What is not given stays as it is in `base`.
[[nodiscard]] LinePlan read_line(Fields fields, const LinePlan& base);

} // namespace sonde
