// Links and switches: a tree, and what happens to packets on it.
//
// A line is one direction of a link. It is both the output at its tail, where packets wait for it,
// and the input at its head. The lines of one link are numbered 2n (up) and 2n + 1 (down): those of
// host h have n = h, those of switch s have n = hosts + s.
//
// Hosts are numbered as a walk through the tree meets them, so that what lies below a switch is a
// range; ranks, which the input numbers, are translated by `place_of` and `rank_of`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/event_queue.hpp"
#include "simulator/packet.hpp"
#include "simulator/random.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

// What each packet touches comes first, in whole cache lines.
struct alignas(64) Line {
    // The output at its tail.
    VirtualTime free_at = 0;
    PacketQueue queue;             // input-buffered: what is staged; the others are `asking`
    PacketQueue urgent;            // control packets, where they go first
    std::int64_t held_packets = 0; // in the output's buffer, with the one on its way
    std::int64_t held_bytes = 0;
    std::uint32_t sending_bytes = 0; // of the packet that is being sent
    std::uint32_t sending_came_by = none;
    std::uint32_t tail_switch = none; // none: a host
    std::uint32_t watched = none;     // number of the series of the output's queue
    bool sending = false;
    bool wake_pending = false;
    bool exact = false; // the end of each sending is an event
    bool wants_room = false;
    bool paused = false;
    bool in_burst = false; // the way's bad state
    bool leaving = false;  // its input is sending a packet
    bool pausing = false;  // it has asked the other end to pause
    // The way.
    VirtualTime timed = 0; // time of timed_bytes on the line
    VirtualTime propagation = 0;
    double loss_ratio = 0.0;
    const BurstLoss* burst = nullptr;  // none: losses come singly
    const HostKind* owner = nullptr;   // of a host's ring
    std::uint32_t asking_first = none; // input-buffered: inputs whose first packet goes here
    std::uint32_t timed_bytes = UINT32_MAX;
    std::uint32_t head_switch = none;
    std::uint32_t head_host = none;
    std::uint32_t sharing = none; // number of what both ways share
    std::uint32_t asking_last = none;
    // Room and counts.
    Room room; // of the output; of a shared switch: what it may have of the common memory
    std::uint64_t sent = 0;
    std::int64_t stage_packets = 0; // input-buffered: how many `queue` takes
    std::int64_t most_at_output = 0;
    std::int64_t reserve_packets = 0; // shared: what it has of its own
    std::int64_t reserve_bytes = 0;
    VirtualTime header_time = 0;
    // The input at its head.
    PacketQueue arrived; // input-buffered
    Room input_room;
    std::int64_t inside_packets = 0; // that came by here and are still in the switch
    std::int64_t inside_bytes = 0;
    std::int64_t most_at_input = 0;
    std::uint32_t next_asking = none;
    std::uint32_t leaving_bytes = 0; // of the packet that the input is sending
    // What is seldom needed.
    std::int64_t rate_bit_per_s = 0;
    std::uint64_t lost_random = 0;
    std::uint64_t lost_at_output = 0;
    std::uint64_t lost_at_input = 0;
    std::uint32_t watched_input = none; // number of the series of the input's queue
};

struct SwitchState {
    std::uint32_t kind = 0;
    std::uint32_t low = 0, high = 0;  // hosts below it: [low, high)
    std::uint32_t own_hosts = 0;      // the first of them are its own
    std::uint32_t up = none;          // line
    std::vector<std::uint32_t> below; // lowest host of each switch below that has any
    std::vector<std::uint32_t> down;  // and the line to it
    std::int64_t pool_packets = 0;
    std::int64_t pool_bytes = 0;
    std::int64_t most_pool_packets = 0;
    std::uint64_t pauses = 0;
};

// One place where the length of a queue is kept.
struct QueueSeries {
    std::vector<std::int64_t> at_ns;
    std::vector<std::int64_t> packets;
};

class NetworkExit {
public:
    NetworkExit() = default;
    NetworkExit(const NetworkExit&) = delete;
    NetworkExit& operator=(const NetworkExit&) = delete;
    virtual ~NetworkExit() = default;

    virtual void reach(std::uint32_t host, std::uint32_t packet) = 0;
    // There is room again in the ring of a host that asked for it.
    virtual void room(std::uint32_t host) = 0;
};

class Network {
public:
    Network(const Scenario& scenario, EventQueue& events, PacketPool& packets, NetworkExit& exit);

    // Whether a host's ring takes another packet; if not, NetworkExit::room() says when.
    [[nodiscard]] bool has_room(std::uint32_t host);
    // Hands a packet to the ring of a host, which has room.
    void send(std::uint32_t host, std::uint32_t packet_index);

    void on_reach_switch(std::uint32_t line_index, std::uint32_t packet_index);
    void on_reach_host(std::uint32_t line, std::uint32_t packet) {
        exit_.reach(lines_[line].head_host, packet);
    }
    void on_ready(std::uint32_t in_index, std::uint32_t packet_index);
    void on_line_free(std::uint32_t line_index);
    void on_input_free(std::uint32_t in_index);
    void on_pause(std::uint32_t line_index, bool paused);

    [[nodiscard]] std::uint32_t place_of(std::uint32_t rank) const { return places_[rank]; }
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t place) const { return ranks_[place]; }
    [[nodiscard]] const HostKind& host_kind(std::uint32_t place) const {
        return scenario_.host_kinds[host_kinds_[place]];
    }

    [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }
    [[nodiscard]] const std::vector<SwitchState>& switches() const noexcept { return switches_; }
    [[nodiscard]] const std::vector<QueueSeries>& queue_series() const noexcept { return series_; }
    [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
    // The time that a packet of so many bytes takes on a host's line, towards the switch.
    [[nodiscard]] VirtualTime line_time_of(std::uint32_t host, std::uint32_t bytes);
    // And away from it.
    [[nodiscard]] VirtualTime line_time_to(std::uint32_t host, std::uint32_t bytes);
    // Nothing waits anywhere; throws std::logic_error where something does.
    void check_empty() const;

private:
    void number_hosts();
    void add_lines();
    void add_link(std::uint32_t number, const LinkKind& kind, std::uint32_t low_switch,
                  std::uint32_t host, std::uint32_t high_switch);
    void give_rooms(Line& in, Line& out, std::uint32_t of_switch, bool uplink);
    void watch_queues();
    [[nodiscard]] std::uint32_t find_switch(const std::string& name) const;
    [[nodiscard]] std::uint32_t find_port(const QueueAsked& asked, std::uint32_t at) const;

    [[nodiscard]] const SwitchKind& kind_of(const SwitchState& at) const {
        return scenario_.switch_kinds[at.kind];
    }
    [[nodiscard]] static std::uint32_t route(const SwitchState& at, std::uint32_t target);
    [[nodiscard]] static VirtualTime time_on(Line& line, std::uint32_t bytes);

    void pump(std::uint32_t line_index);
    void pump_asking(std::uint32_t out_index);
    void fill_stage(std::uint32_t out_index);
    // The first packet of the input that is served next.
    std::uint32_t take_granted(std::uint32_t out_index);
    void free_input(std::uint32_t in_index, std::uint32_t out_index, VirtualTime start);
    // When the packet has left, and the line is free for another.
    VirtualTime transmit(std::uint32_t line_index, std::uint32_t packet_index);
    [[nodiscard]] bool lose(Line& line);
    void wake(std::uint32_t line_index);
    void settle(Line& line);
    void release_output(Line& line, std::uint32_t bytes, std::uint32_t came_by);

    void queue_at_output(const SwitchKind& kind, std::uint32_t out_index,
                         std::uint32_t packet_index);
    void line_up(const SwitchKind& kind, std::uint32_t out_index, std::uint32_t packet_index);
    void queue_at_input(std::uint32_t in_index, std::uint32_t packet_index);
    void ask(std::uint32_t in_index);
    [[nodiscard]] std::uint32_t take_asking(Line& out, bool fair);
    [[nodiscard]] static bool admit(const SwitchKind& kind, SwitchState& at, Line& out,
                                    std::uint32_t bytes);
    void count_in(std::uint32_t in_index, const SwitchKind& kind, std::uint32_t bytes);
    void count_out(std::uint32_t in_index, const SwitchKind& kind, std::uint32_t bytes);
    void tell_pause(std::uint32_t in_index, bool paused);
    void sample(std::uint32_t series_index, std::int64_t packets);

    const Scenario& scenario_;
    EventQueue& events_;
    PacketPool& packets_;
    NetworkExit& exit_;
    Random random_;
    std::vector<Line> lines_;
    std::vector<SwitchState> switches_;
    std::vector<VirtualTime> shared_free_at_;
    std::vector<std::int64_t> shared_rates_;
    std::vector<std::uint32_t> places_, ranks_; // of hosts
    std::vector<std::uint32_t> host_kinds_, host_links_, host_switches_;
    std::vector<QueueSeries> series_;
    std::uint64_t samples_ = 0;
};

} // namespace sonde::simulator
