// What is simulated: everything that the input says, checked. docs/reference/simulator-input.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/request.hpp"
#include "fabric/burst_loss.hpp"
#include "fabric/virtual_time.hpp"
#include "protocol/go_back_n.hpp"
#include "schedule/schedule.hpp"

namespace sonde::simulator {

constexpr std::int64_t most_hosts_simulated = std::int64_t{1} << 20U;
constexpr std::int64_t most_switches_simulated = std::int64_t{1} << 16U;
constexpr std::int64_t most_packet_bytes = 65'535; // Ethernet payload

// base + slope * bytes.
struct Cost {
    double base_ps = 0.0;
    double per_byte_ps = 0.0;

    [[nodiscard]] VirtualTime of(std::int64_t bytes) const noexcept {
        return static_cast<VirtualTime>(base_ps + per_byte_ps * static_cast<double>(bytes));
    }
    [[nodiscard]] bool any() const noexcept { return base_ps > 0.0 || per_byte_ps > 0.0; }
};

enum class ProcessJitterShape : std::uint8_t { off, uniform, exponential };

struct ProcessJitter {
    ProcessJitterShape shape = ProcessJitterShape::off;
    double mean_ps = 0.0;
    double ratio = 1.0; // of the pieces of work that it meets
};

enum class Coalescing : std::uint8_t { packet, count, time, adaptive };

struct CoalescingPlan {
    Coalescing policy = Coalescing::packet;
    std::int64_t packets = 1;
    VirtualTime time = 0;
    VirtualTime interrupt = 0; // what an interrupt costs beside its packets
};

struct HostKind {
    Cost send_overhead, receive_overhead, user_receive_overhead;
    Cost send_gap, receive_gap;
    Cost copy;
    bool control_overhead = true;
    bool other_processor = false; // pays the receive overhead
    VirtualTime timer_late = 0;   // by which its process learns that a timer has run out
    std::int64_t transmit_ring_packets = 64;
    std::int64_t receive_pool_packets = 1024;
    ProcessJitter jitter;
    CoalescingPlan coalescing;
};

struct LinkKind {
    std::int64_t up_rate_bit_per_s = 0;
    std::int64_t down_rate_bit_per_s = 0;
    std::int64_t both_ways_bit_per_s = 0; // 0: no limit
    VirtualTime propagation = 0;
    double loss_ratio = 0.0;
    std::optional<BurstLoss> burst;
};

enum class Buffering : std::uint8_t { input, output, shared };

constexpr std::int64_t unlimited = INT64_MAX;

struct Room {
    std::int64_t packets = unlimited;
    std::int64_t bytes = unlimited;
};

struct PausePlan {
    std::int64_t high_packets = 0;
    std::int64_t low_packets = 0;
};

struct SwitchKind {
    Buffering architecture = Buffering::output;
    Room buffer;
    Room port_cap;
    std::optional<Room> uplink_buffer;
    bool cut_through = false;
    VirtualTime latency = 0;
    bool fair = true;
    std::int64_t output_stage_packets = 0; // input-buffered: packets that an output holds ready
    bool control_first = false;
    std::optional<PausePlan> pause;
};

struct SwitchEntry {
    std::string name;
    std::uint32_t kind = 0;
    std::uint32_t parent = UINT32_MAX; // the first has none
    std::uint32_t link = 0;
};

struct HostGroup {
    std::uint32_t at_switch = 0;
    std::uint32_t count = 0;
    std::uint32_t kind = 0;
    std::uint32_t link = 0;
};

enum class TransportKind : std::uint8_t { datagram, go_back_n, tcp };
using protocol::Acknowledge;

struct TransportPlan {
    TransportKind kind = TransportKind::datagram;
    std::int64_t header_bytes = 8;
    std::int64_t control_bytes = 8;
    std::int64_t window_packets = 16; // of TCP: what the receiver has room for
    VirtualTime timeout = 0;          // of TCP: the least
    Acknowledge acknowledge = Acknowledge::immediate;
    std::int64_t delay_packets = 2;
    VirtualTime delay = 0;
    bool fast_retransmit = true;
    bool selective = true;
    std::int64_t initial_window_packets = 10;
    std::int64_t global_window_packets = 0; // 0: none
    bool window_counts_received = false; // of the global window: what came, not what was answered
};

enum class WorkloadKind : std::uint8_t {
    one_way,
    two_way,
    many_to_one,
    uniform,
    pairs,
    burst,
    schedule,
    trace
};

struct TraceMessage {
    VirtualTime at = 0;
    std::uint32_t source = 0;
    std::uint32_t target = 0;
    std::int64_t bytes = 0;
};

struct WorkloadPlan {
    WorkloadKind kind = WorkloadKind::one_way;
    std::int64_t payload_bytes = 1492;
    std::int64_t packets = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs; // who sends to whom
    std::vector<std::uint32_t> sources, sinks;                  // burst
    double load = 1.0;
    VirtualTime start_spread = 0;
    std::int64_t repetitions = 1;
    std::string algorithm;
    schedule::Parameters parameters;
    std::vector<TraceMessage> messages;
};

struct QueueAsked {
    std::string at_switch;
    bool up = false;
    std::optional<std::uint32_t> host; // rank
    std::string neighbour;             // a switch, where it is no host and not up
};

struct RecordPlan {
    bool packets = false;
    bool events = false;
    std::optional<bool> ranks; // none: up to 4096 of them
    std::vector<QueueAsked> queues;
    VirtualTime queue_every = 0;
};

struct Limits {
    std::int64_t events = 1'000'000'000'000;
    VirtualTime time = from_ns(1'000'000'000'000'000);
    std::int64_t samples = 4'194'304;
    std::int64_t memory_bytes = std::int64_t{8} << 30U;
};

struct Scenario {
    std::uint64_t seed = 1;
    std::vector<HostKind> host_kinds;
    std::vector<LinkKind> link_kinds;
    std::vector<SwitchKind> switch_kinds;
    std::vector<SwitchEntry> switches;
    std::vector<HostGroup> groups;
    std::uint32_t hosts = 0;
    TransportPlan transport;
    WorkloadPlan workload;
    RecordPlan record;
    Limits limits;

    [[nodiscard]] bool reliable() const noexcept {
        return transport.kind != TransportKind::datagram;
    }
};

// Throws Failure("bad_request") with one sentence.
[[nodiscard]] Scenario read_scenario(const nlohmann::json& input);

// Parts of it, in files of their own.
// Kinds, switches and hosts; `input` is what `fields` was made of.
void read_places(Fields& fields, const nlohmann::json& input, Scenario& scenario);
[[nodiscard]] TransportPlan read_transport(Fields fields);
[[nodiscard]] WorkloadPlan read_workload(nlohmann::json input, const Scenario& scenario);
[[nodiscard]] VirtualTime take_time(Fields& fields, std::string_view name,
                                    std::int64_t otherwise_ns);

} // namespace sonde::simulator
