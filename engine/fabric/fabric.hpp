// Switches and links as a discrete-event model in virtual time. No input or output: what happens to
// a frame depends on the frames and their times alone, never on when this code ran.
//
// Timing. A frame occupies a line for its line time (preamble, check sequence and gap included) and
// arrives a propagation delay after its last bit has left. A store-and-forward switch has it in its
// buffer from then on, a cut-through switch as soon as its header is in; it may leave when the
// switch's own delay is over and its end is sure to be there in time. Events of the same instant
// are handled in the order departures, pauses, arrivals; arrivals among themselves in an order
// drawn from the seed, so that no port is favoured.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "fabric/counters.hpp"
#include "fabric/frame.hpp"
#include "fabric/impairment.hpp"
#include "fabric/stations.hpp"
#include "fabric/topology.hpp"
#include "fabric/virtual_time.hpp"

namespace sonde {

using PortSet = std::bitset<most_ports>; // by number within the switch

// Who gets the frames that come out of the fabric. The frame is the fabric's again afterwards.
class FabricExit {
public:
    virtual ~FabricExit() = default;
    virtual void deliver(std::uint32_t host, FrameIndex frame, VirtualTime at) = 0;
};

class Fabric {
public:
    // frames must have room for the largest frame of the topology and outlive the fabric.
    Fabric(const Topology& topology, FramePool& frames, FabricExit& exit);

    // A host sends a frame, which becomes the fabric's. It goes on the host's line when that is
    // free and not before `ready`; frames of a host keep their order.
    void send(std::uint32_t host, FrameIndex frame, VirtualTime ready);
    // How long the line will take for what waits in the host.
    [[nodiscard]] VirtualTime waiting_time(std::uint32_t host) const noexcept {
        return hosts_[host].waiting_time;
    }

    // While the gate is closed no host's line starts a frame; they all go on at the same instant.
    void close_gate() noexcept { gate_open_ = false; }
    void open_gate(VirtualTime at);
    [[nodiscard]] bool gate_open() const noexcept { return gate_open_; }

    // Handles all events up to and including `until`.
    void advance(VirtualTime until);
    [[nodiscard]] VirtualTime now() const noexcept { return now_; }
    // No frame comes out before this time, unless one is sent: till then nobody need look.
    [[nodiscard]] VirtualTime next_exit() const noexcept;

    // Frames leave for a host so much sooner, as far as its link has so much delay: for what the
    // way from the fabric into the host costs in real time.
    void set_exit_credit(VirtualTime credit) noexcept;

    // From the next frame on. Link and direction as in the topology.
    void set_line(std::size_t link, bool up, const LinePlan& plan);
    [[nodiscard]] const LinePlan& line_plan(std::size_t link, bool up) const noexcept {
        return line(link, up).plan;
    }

    [[nodiscard]] const LineCounters& line_counters(std::size_t link, bool up) const noexcept {
        return line(link, up).counters;
    }
    // Of the port at a link's end; the lower end of a host's link is no port.
    [[nodiscard]] const PortCounters& port_counters(std::size_t link, bool upper) const noexcept;
    // All counters begin anew; what buffers hold stays.
    void forget_counters() noexcept;
    // How many packets that port's buffer holds now.
    [[nodiscard]] std::int64_t port_packets(std::size_t link, bool upper) const noexcept;
    [[nodiscard]] const Topology& topology() const noexcept { return topology_; }

private:
    struct End {
        bool host = false;
        std::uint32_t index = 0; // of hosts_ or ports_
    };
    struct Line {
        LinePlan plan;
        Impairer impairer;
        End from;
        End to;
        bool busy = false;
        bool paused = false;
        VirtualTime last_arrival = 0; // of a last bit
        VirtualTime last_seen = 0;    // by the switch at the end
        LineCounters counters;
    };
    struct Waiting {
        FrameIndex frame;
        VirtualTime ready;
    };
    struct Host {
        std::uint32_t line = 0;
        std::deque<Waiting> waiting;
        VirtualTime waiting_time = 0;
    };
    struct Held {
        FrameIndex frame = 0;
        std::uint32_t input = 0; // of ports_
        VirtualTime tail = 0;    // when its last bit is in, the switch's own delay with it
        VirtualTime ready = 0;   // when it may leave
        PortSet outputs;         // input-buffered: where it has yet to go
        std::uint16_t under_way = 0;
    };
    struct Level {
        std::int64_t packets = 0;
        std::int64_t bytes = 0;
    };
    struct Port {
        std::uint32_t of_switch = 0;
        std::uint16_t number = 0;
        std::uint32_t in_line = 0;
        std::uint32_t out_line = 0;
        Capacity capacity;
        std::deque<Held> queue; // of its input or for its output, as the architecture has it
        Level level;
        std::int64_t came_by = 0;   // frames in the switch that came by this port
        VirtualTime last_ready = 0; // cut-through: of what came by this port
        bool asked_to_pause = false;
        VirtualTime last_ask = 0;         // when what it last asked for is heard
        std::deque<std::uint32_t> asking; // input-buffered: inputs whose heads want this output
        std::uint32_t serving = 0;        // and whose head is on the way out
        PortCounters counters;
    };
    struct Switch {
        SwitchPlan plan;
        std::vector<std::uint32_t> ports;
        Stations stations;
        Level level; // shared
    };
    // input_free: a head has been read by the output of that line; ready: what waits for that line
    // may leave.
    enum class Kind : std::uint8_t { line_free, input_free, ready, pause, resume, arrival };
    struct Event {
        VirtualTime at = 0;
        std::uint64_t order = 0;
        VirtualTime tail = 0;
        std::uint32_t line = 0;
        FrameIndex frame = 0;
        std::uint32_t input = 0; // of ports_
        Kind kind = Kind::line_free;
        bool operator>(const Event& other) const noexcept {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

    [[nodiscard]] const Line& line(std::size_t link, bool up) const noexcept {
        return lines_[2 * link + (up ? 0 : 1)];
    }
    [[nodiscard]] VirtualTime time_on(const Line& line, FrameIndex frame) const noexcept {
        return line_time(frames_.length(frame), line.plan.rate_bit_per_s);
    }

    std::uint32_t add_port(std::uint32_t of_switch, const Capacity& capacity, std::uint32_t in_line,
                           std::uint32_t out_line);
    void add_link(const LinkPlan& plan, std::size_t number);
    [[nodiscard]] VirtualTime delay_of(const Line& line) const noexcept;
    void find_shortest_exit() noexcept;

    void schedule(Kind kind, VirtualTime at, std::uint32_t line, FrameIndex frame = 0,
                  VirtualTime tail = 0, std::uint32_t input = 0);
    void handle(const Event& event);
    void free_line(std::uint32_t line);
    void pause(std::uint32_t line, bool paused);
    void start_next(std::uint32_t line);
    void start_host(Host& host);
    [[nodiscard]] bool line_takes(Line& line, FrameIndex frame);
    void transmit(std::uint32_t line, FrameIndex frame, VirtualTime start);
    void send_copy(std::uint32_t line, FrameIndex frame, VirtualTime start, VirtualTime end,
                   VirtualTime extra_delay, bool keep_order);

    void arrive(const Event& event);
    [[nodiscard]] PortSet route(Switch& at, Port& input, FrameIndex frame);
    void hold_at_input(std::uint32_t input, Held held);
    void hold_at_outputs(std::uint32_t input, const Held& held);
    [[nodiscard]] VirtualTime ready_for(const Port& output, const Held& held) const noexcept;
    void get_ready(const Event& event);
    [[nodiscard]] static Level of_pool(const Port& port, std::int64_t packets,
                                       std::int64_t bytes) noexcept;
    [[nodiscard]] static bool find_room(const Switch& at, const Port& port,
                                        std::int64_t bytes) noexcept;
    void change_level(Port& port, std::int64_t packets, std::int64_t bytes) noexcept;
    void take_room(Port& port, const Held& held);
    void leave_room(Port& port, const Held& held);
    void ask_to_pause(Port& input, bool paused);
    void drop(Port& port, FrameIndex frame);

    void start_output(std::uint32_t output);
    void start_longest_asking(std::uint32_t output);
    void finish_output(std::uint32_t output);
    void finish_input_head(std::uint32_t output);
    void offer_head(std::uint32_t input);
    void ask(std::uint32_t input, std::uint32_t output);

    Topology topology_;
    FramePool& frames_;
    FabricExit& exit_;
    std::vector<Line> lines_; // two for each link: up, down
    std::vector<Host> hosts_;
    std::vector<Port> ports_;
    std::vector<Switch> switches_;
    Events events_;
    Events exits_; // arrivals at hosts
    std::uint64_t scheduled_ = 0;
    VirtualTime now_ = 0;
    VirtualTime shortest_exit_ = 0;
    VirtualTime exit_credit_ = 0;
    bool gate_open_ = true;
};

} // namespace sonde
