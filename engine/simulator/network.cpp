// Packets on lines and in switches.
#include "simulator/network.hpp"

#include <algorithm>

#include "fabric/room.hpp"

namespace sonde::simulator {

namespace {

constexpr std::uint32_t frame_header = 14;

std::uint32_t frame_bytes(std::uint32_t bytes) { return bytes + frame_header; }

} // namespace

VirtualTime Network::time_on(Line& line, std::uint32_t bytes) {
    if (line.timed_bytes != bytes) { // most packets are as long as the one before
        line.timed_bytes = bytes;
        line.timed = line_time(frame_bytes(bytes), line.rate_bit_per_s);
    }
    return line.timed;
}

VirtualTime Network::line_time_of(std::uint32_t host, std::uint32_t bytes) {
    return time_on(lines_[2 * std::size_t{host}], bytes);
}

VirtualTime Network::line_time_to(std::uint32_t host, std::uint32_t bytes) {
    return time_on(lines_[2 * std::size_t{host} + 1], bytes);
}

std::uint32_t Network::route(const SwitchState& at, std::uint32_t target) {
    if (target < at.low || target >= at.high) {
        return at.up;
    }
    if (target < at.low + at.own_hosts) {
        return 2 * target + 1;
    }
    const auto after = std::upper_bound(at.below.begin(), at.below.end(), target);
    return at.down[static_cast<std::size_t>(after - at.below.begin()) - 1];
}

// ---- outputs

// What was being sent when its time was over has left the buffer.
void Network::settle(Line& line) {
    if (!line.sending || line.free_at > events_.now()) {
        return;
    }
    line.sending = false;
    if (line.tail_switch == none ||
        kind_of(switches_[line.tail_switch]).architecture != Buffering::input) {
        release_output(line, line.sending_bytes, line.sending_came_by);
    }
}

void Network::release_output(Line& line, std::uint32_t bytes, std::uint32_t came_by) {
    const std::int64_t beyond = beyond_reserve(line.held_packets, line.reserve_packets);
    const std::int64_t bytes_beyond = beyond_reserve(line.held_bytes, line.reserve_bytes);
    --line.held_packets;
    line.held_bytes -= bytes;
    require(line.held_packets >= 0 && line.held_bytes >= 0, "a queue holds less than nothing");
    if (line.tail_switch == none) {
        return;
    }
    SwitchState& at = switches_[line.tail_switch];
    const SwitchKind& kind = kind_of(at);
    if (kind.architecture == Buffering::shared) {
        at.pool_packets += beyond_reserve(line.held_packets, line.reserve_packets) - beyond;
        at.pool_bytes += beyond_reserve(line.held_bytes, line.reserve_bytes) - bytes_beyond;
        require(at.pool_packets >= 0 && at.pool_bytes >= 0,
                "a shared buffer holds less than nothing");
    }
    sample(line.watched, line.held_packets);
    if (kind.pause) {
        count_out(came_by, kind, bytes);
    }
}

void Network::wake(std::uint32_t line_index) {
    Line& line = lines_[line_index];
    if (!line.wake_pending) {
        line.wake_pending = true;
        events_.push(std::max(line.free_at, events_.now()), EventKind::line_free, line_index);
    }
}

void Network::on_line_free(std::uint32_t line_index) {
    Line& line = lines_[line_index];
    line.wake_pending = false;
    if (line.asking_first != none || line.stage_packets > 0) {
        pump_asking(line_index);
        return;
    }
    pump(line_index);
    if (line.wants_room && line.held_packets < line.room.packets) {
        line.wants_room = false;
        exit_.room(line_index / 2);
    }
}

// Sends the next packet where the line is free, and says when to look again.
void Network::pump(std::uint32_t line_index) {
    Line& line = lines_[line_index];
    settle(line);
    if (line.queue.empty() && line.urgent.empty()) {
        // The look that was due may have been for the packet before.
        if (line.sending && (line.exact || line.wants_room)) {
            wake(line_index);
        }
        return;
    }
    if (line.free_at > events_.now()) {
        wake(line_index);
        return;
    }
    if (line.paused) {
        return;
    }
    const std::uint32_t packet = (line.urgent.empty() ? line.queue : line.urgent).pop(packets_);
    transmit(line_index, packet);
    if (line.exact || line.wants_room || !line.queue.empty() || !line.urgent.empty()) {
        wake(line_index);
    }
}

bool Network::lose(Line& line) {
    const auto happens = [this](double ratio) { return random_.happens(ratio); };
    return happens(line.loss_ratio) ||
           (line.burst != nullptr && lose_in_burst(*line.burst, line.in_burst, happens));
}

VirtualTime Network::transmit(std::uint32_t line_index, std::uint32_t packet_index) {
    Line& line = lines_[line_index];
    Packet& packet = packets_[packet_index];
    const VirtualTime time = time_on(line, packet.bytes);
    VirtualTime start = std::max(events_.now(), packet.ready_at);
    if (line.sharing != none) {
        VirtualTime& shared = shared_free_at_[line.sharing];
        start = std::max(start, shared);
        shared = start + line_time(frame_bytes(packet.bytes), shared_rates_[line.sharing]);
    }
    const VirtualTime gap = line.owner != nullptr ? line.owner->send_gap.of(packet.bytes) : 0;
    line.free_at = start + std::max(time, gap);
    line.sending = true;
    line.sending_bytes = packet.bytes;
    line.sending_came_by = packet.came_by;
    ++line.sent;
    if (lose(line)) {
        ++line.lost_random;
        packets_.give(packet_index);
    } else if (line.head_switch == none) {
        events_.push(start + time + line.propagation, EventKind::reach_host, line_index,
                     packet_index);
    } else {
        const bool cut = kind_of(switches_[line.head_switch]).cut_through;
        events_.push(start + line.propagation + (cut ? line.header_time : time),
                     EventKind::reach_switch, line_index, packet_index);
    }
    return start + time;
}

// ---- hosts

bool Network::has_room(std::uint32_t host) {
    Line& line = lines_[2 * std::size_t{host}];
    settle(line);
    if (line.held_packets < line.room.packets) {
        return true;
    }
    line.wants_room = true;
    if (!line.paused) {
        wake(2 * host);
    }
    return false;
}

void Network::send(std::uint32_t host, std::uint32_t packet_index) {
    Line& line = lines_[2 * std::size_t{host}];
    ++line.held_packets;
    line.held_bytes += packets_[packet_index].bytes;
    line.queue.push(packets_, packet_index);
    pump(2 * host);
}

// ---- switches

void Network::on_reach_switch(std::uint32_t line_index, std::uint32_t packet_index) {
    Line& in = lines_[line_index];
    const SwitchState& at = switches_[in.head_switch];
    const SwitchKind& kind = kind_of(at);
    Packet& packet = packets_[packet_index];
    packet.came_by = line_index;
    packet.ready_at = events_.now() + kind.latency;
    const std::uint32_t out = route(at, packet.target);
    require(out != none && out != (line_index ^ 1U), "the simulator sends a packet back");
    if (kind.cut_through) { // its tail must not be late at a faster output
        const VirtualTime tail = time_on(in, packet.bytes) - in.header_time;
        packet.ready_at += std::max<VirtualTime>(0, tail - time_on(lines_[out], packet.bytes));
    }
    if (kind.architecture == Buffering::input) {
        queue_at_input(line_index, packet_index);
    } else {
        queue_at_output(kind, out, packet_index);
    }
}

// Whether there is room, and takes it.
bool Network::admit(const SwitchKind& kind, SwitchState& at, Line& out, std::uint32_t bytes) {
    const std::int64_t packets = beyond_reserve(out.held_packets + 1, out.reserve_packets);
    const std::int64_t all_bytes = beyond_reserve(out.held_bytes + bytes, out.reserve_bytes);
    if (packets > out.room.packets || all_bytes > out.room.bytes) {
        return false;
    }
    if (kind.architecture == Buffering::shared) {
        const std::int64_t more = packets - beyond_reserve(out.held_packets, out.reserve_packets);
        const std::int64_t more_bytes =
            all_bytes - beyond_reserve(out.held_bytes, out.reserve_bytes);
        if (at.pool_packets + more > kind.buffer.packets ||
            at.pool_bytes + more_bytes > kind.buffer.bytes) {
            return false;
        }
        at.pool_packets += more;
        at.pool_bytes += more_bytes;
        at.most_pool_packets = std::max(at.most_pool_packets, at.pool_packets);
    }
    ++out.held_packets;
    out.held_bytes += bytes;
    return true;
}

void Network::queue_at_output(const SwitchKind& kind, std::uint32_t out_index,
                              std::uint32_t packet_index) {
    Line& out = lines_[out_index];
    settle(out);
    const Packet& packet = packets_[packet_index];
    if (!admit(kind, switches_[out.tail_switch], out, packet.bytes)) {
        ++out.lost_at_output;
        packets_.give(packet_index);
        return;
    }
    out.most_at_output = std::max(out.most_at_output, out.held_packets);
    sample(out.watched, out.held_packets);
    if (kind.pause) {
        count_in(packet.came_by, kind, packet.bytes);
    }
    // Whole packets are ready in the order in which they came. Else one that is not ready must not
    // hold a line that others could use, and those behind it must not go ahead.
    if (packet.ready_at > events_.now() && (kind.cut_through || out.sharing != none)) {
        events_.push(packet.ready_at, EventKind::ready, packet.came_by, packet_index);
    } else {
        line_up(kind, out_index, packet_index);
    }
}

void Network::line_up(const SwitchKind& kind, std::uint32_t out_index, std::uint32_t packet_index) {
    Line& out = lines_[out_index];
    const bool urgent = kind.control_first && packets_[packet_index].kind != PacketKind::data;
    (urgent ? out.urgent : out.queue).push(packets_, packet_index);
    pump(out_index);
}

void Network::on_ready(std::uint32_t in_index, std::uint32_t packet_index) {
    const SwitchState& at = switches_[lines_[in_index].head_switch];
    const SwitchKind& kind = kind_of(at);
    if (kind.architecture == Buffering::input) {
        ask(in_index);
    } else {
        line_up(kind, route(at, packets_[packet_index].target), packet_index);
    }
}

void Network::queue_at_input(std::uint32_t in_index, std::uint32_t packet_index) {
    Line& in = lines_[in_index];
    const std::uint32_t bytes = packets_[packet_index].bytes;
    if (in.inside_packets + 1 > in.input_room.packets ||
        in.inside_bytes + bytes > in.input_room.bytes) {
        ++in.lost_at_input;
        packets_.give(packet_index);
        return;
    }
    count_in(in_index, kind_of(switches_[in.head_switch]), bytes);
    in.most_at_input = std::max(in.most_at_input, in.inside_packets);
    sample(in.watched_input, in.inside_packets);
    const bool first = in.arrived.empty() && !in.leaving;
    in.arrived.push(packets_, packet_index);
    if (first) {
        ask(in_index);
    }
}

// The input's first packet asks for its output as soon as it is ready; all that are behind it wait.
void Network::ask(std::uint32_t in_index) {
    Line& in = lines_[in_index];
    const Packet& packet = packets_[in.arrived.first];
    if (packet.ready_at > events_.now()) {
        events_.push(packet.ready_at, EventKind::ready, in_index, in.arrived.first);
        return;
    }
    const std::uint32_t out_index = route(switches_[in.head_switch], packet.target);
    Line& out = lines_[out_index];
    in.next_asking = none;
    if (out.asking_first == none) {
        out.asking_first = in_index;
    } else {
        lines_[out.asking_last].next_asking = in_index;
    }
    out.asking_last = in_index;
    pump_asking(out_index);
}

// Fair: the input that has asked longest, so each in its turn. Else the one of the lowest number.
std::uint32_t Network::take_asking(Line& out, bool fair) {
    std::uint32_t before = none;
    std::uint32_t taken = out.asking_first;
    if (!fair) {
        for (std::uint32_t at = taken; lines_[at].next_asking != none;
             at = lines_[at].next_asking) {
            if (lines_[at].next_asking < taken) {
                before = at;
                taken = lines_[at].next_asking;
            }
        }
    }
    const std::uint32_t after = lines_[taken].next_asking;
    (before == none ? out.asking_first : lines_[before].next_asking) = after;
    if (out.asking_last == taken) {
        out.asking_last = before;
    }
    return taken;
}

std::uint32_t Network::take_granted(std::uint32_t out_index) {
    Line& out = lines_[out_index];
    Line& in = lines_[take_asking(out, kind_of(switches_[out.tail_switch]).fair)];
    const std::uint32_t packet = in.arrived.pop(packets_);
    in.leaving = true;
    in.leaving_bytes = packets_[packet].bytes;
    return packet;
}

// From `start` on, a packet goes over as fast as the slower line allows: a fast input is rid of it
// as fast as it came in, and a slow output has it meanwhile.
void Network::free_input(std::uint32_t in_index, std::uint32_t out_index, VirtualTime start) {
    Line& in = lines_[in_index];
    const VirtualTime time =
        std::min(time_on(in, in.leaving_bytes), time_on(lines_[out_index], in.leaving_bytes));
    events_.push(start + time, EventKind::input_free, in_index);
}

void Network::pump_asking(std::uint32_t out_index) {
    Line& out = lines_[out_index];
    settle(out);
    if (out.stage_packets > 0) {
        fill_stage(out_index);
        return;
    }
    if (out.asking_first == none || out.paused) {
        return;
    }
    if (out.free_at > events_.now()) {
        wake(out_index);
        return;
    }
    const std::uint32_t packet = take_granted(out_index);
    const std::uint32_t in_index = packets_[packet].came_by;
    const VirtualTime left = transmit(out_index, packet);
    free_input(in_index, out_index, left - time_on(out, out.sending_bytes));
    if (out.asking_first != none) {
        wake(out_index);
    }
}

// Inputs hand packets over while the output has places for them, whether it is sending or not.
void Network::fill_stage(std::uint32_t out_index) {
    Line& out = lines_[out_index];
    for (;;) {
        if (!out.queue.empty() && !out.paused && out.free_at <= events_.now()) {
            --out.held_packets;
            transmit(out_index, out.queue.pop(packets_));
        }
        if (out.asking_first == none || out.held_packets >= out.stage_packets) {
            break;
        }
        const std::uint32_t packet = take_granted(out_index);
        free_input(packets_[packet].came_by, out_index, events_.now());
        out.queue.push(packets_, packet);
        ++out.held_packets;
    }
    if (!out.queue.empty() && !out.paused) {
        wake(out_index);
    }
}

void Network::on_input_free(std::uint32_t in_index) {
    Line& in = lines_[in_index];
    in.leaving = false;
    count_out(in_index, kind_of(switches_[in.head_switch]), in.leaving_bytes);
    sample(in.watched_input, in.inside_packets);
    if (!in.arrived.empty()) {
        ask(in_index);
    }
}

// ---- 802.3x: what came by a port and is inside fills it

void Network::count_in(std::uint32_t in_index, const SwitchKind& kind, std::uint32_t bytes) {
    Line& in = lines_[in_index];
    ++in.inside_packets;
    in.inside_bytes += bytes;
    if (kind.pause && !in.pausing && in.inside_packets >= kind.pause->high_packets) {
        in.pausing = true;
        ++switches_[in.head_switch].pauses;
        tell_pause(in_index, true);
    }
}

void Network::count_out(std::uint32_t in_index, const SwitchKind& kind, std::uint32_t bytes) {
    Line& in = lines_[in_index];
    --in.inside_packets;
    in.inside_bytes -= bytes;
    require(in.inside_packets >= 0 && in.inside_bytes >= 0, "an input holds less than nothing");
    if (in.pausing && in.inside_packets <= kind.pause->low_packets) {
        in.pausing = false;
        tell_pause(in_index, false);
    }
}

// The frame that says it goes ahead of all others, on the line of the other direction.
void Network::tell_pause(std::uint32_t in_index, bool paused) {
    const Line& back = lines_[in_index ^ 1U];
    const VirtualTime time = line_time(least_frame_bytes, back.rate_bit_per_s);
    events_.push(events_.now() + time + back.propagation, EventKind::pause, in_index,
                 paused ? 1 : 0);
}

void Network::on_pause(std::uint32_t line_index, bool paused) {
    Line& line = lines_[line_index];
    line.paused = paused;
    if (!paused) {
        wake(line_index);
    }
}

// ---- what is kept of queues

void Network::sample(std::uint32_t series_index, std::int64_t packets) {
    if (series_index == none) {
        return;
    }
    QueueSeries& series = series_[series_index];
    const std::int64_t at_ns = to_ns(events_.now());
    const std::int64_t every_ns = to_ns(scenario_.record.queue_every);
    if (every_ns > 0 && !series.at_ns.empty() && at_ns < series.at_ns.back() + every_ns) {
        return;
    }
    series.at_ns.push_back(at_ns);
    series.packets.push_back(packets);
    samples_ += 2;
}

} // namespace sonde::simulator
