#include "fabric/fabric.hpp"

#include <algorithm>
#include <utility>

#include "fabric/room.hpp"

namespace sonde {

namespace {

// When a cut-through switch has read where a frame goes: preamble and header.
constexpr std::int64_t header_bits = (8 + static_cast<std::int64_t>(frame_header_bytes)) * 8;
constexpr std::int64_t pause_frame_bits = line_bits(least_frame_bytes);

std::uint64_t mix(std::uint64_t value) noexcept { // splitmix64
    value += 0x9E3779B97F4A7C15U;
    value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9U;
    value = (value ^ value >> 27U) * 0x94D049BB133111EBU;
    return value ^ value >> 31U;
}

bool within(const Capacity& capacity, std::int64_t packets, std::int64_t bytes) noexcept {
    return packets <= capacity.packets.value_or(packets) && bytes <= capacity.bytes.value_or(bytes);
}

bool is_given(const Capacity& capacity) noexcept { return capacity.packets || capacity.bytes; }

} // namespace

Fabric::Fabric(const Topology& topology, FramePool& frames, FabricExit& exit)
    : topology_(topology), frames_(frames), exit_(exit), hosts_(topology.hosts.size()) {
    for (const SwitchPlan& plan : topology_.switches) {
        switches_.push_back({plan, {}, {}, {}});
    }
    ports_.reserve(2 * topology_.links.size());
    for (std::size_t number = 0; number < topology_.links.size(); ++number) {
        add_link(topology_.links[number], number);
    }
    find_shortest_exit();
}

std::uint32_t Fabric::add_port(std::uint32_t of_switch, const Capacity& capacity,
                               std::uint32_t in_line, std::uint32_t out_line) {
    Switch& at = switches_[of_switch];
    const auto index = static_cast<std::uint32_t>(ports_.size());
    Port port;
    port.of_switch = of_switch;
    port.number = static_cast<std::uint16_t>(at.ports.size());
    port.in_line = in_line;
    port.out_line = out_line;
    const bool shared = at.plan.architecture == Architecture::shared;
    // In a shared buffer a port has nothing of its own unless it is given.
    port.capacity = is_given(capacity) ? capacity : shared ? Capacity{0, 0} : at.plan.capacity;
    ports_.push_back(std::move(port));
    at.ports.push_back(index);
    return index;
}

void Fabric::add_link(const LinkPlan& plan, std::size_t number) {
    const auto up = static_cast<std::uint32_t>(2 * number);
    const std::uint32_t down = up + 1;
    const auto switch_called = [&](const std::string& name) {
        const auto found =
            std::find_if(topology_.switches.begin(), topology_.switches.end(),
                         [&](const SwitchPlan& candidate) { return candidate.name == name; });
        return static_cast<std::uint32_t>(found - topology_.switches.begin());
    };
    End lower;
    if (plan.from_host) {
        const auto found = std::find(topology_.hosts.begin(), topology_.hosts.end(), plan.lower);
        lower = {true, static_cast<std::uint32_t>(found - topology_.hosts.begin())};
        hosts_[lower.index].line = up;
    } else {
        lower = {false, add_port(switch_called(plan.lower), plan.lower_capacity, down, up)};
    }
    const End upper{false, add_port(switch_called(plan.upper), plan.upper_capacity, up, down)};
    const auto add_line = [&](const LinePlan& one, std::uint32_t index, End from, End to) {
        const Impairer impairer(mix(topology_.seed ^ mix(index)));
        lines_.push_back({one, impairer, from, to, false, false, 0, 0, {}});
    };
    add_line(plan.up, up, lower, upper);
    add_line(plan.down, down, upper, lower);
}

// The least time between an event inside and what can come out because of it.
void Fabric::find_shortest_exit() noexcept {
    shortest_exit_ = never;
    for (const Line& line : lines_) {
        if (line.to.host) {
            const VirtualTime least = line_time(least_frame_bytes, line.plan.rate_bit_per_s);
            shortest_exit_ = std::min(shortest_exit_, least + delay_of(line));
        }
    }
}

VirtualTime Fabric::delay_of(const Line& line) const noexcept {
    const VirtualTime credit = line.to.host ? exit_credit_ : 0;
    return std::max<VirtualTime>(from_ns(line.plan.delay_ns) - credit, 0);
}

void Fabric::set_exit_credit(VirtualTime credit) noexcept {
    exit_credit_ = credit;
    find_shortest_exit();
}

VirtualTime Fabric::next_exit() const noexcept {
    const VirtualTime exit = exits_.empty() ? never : exits_.top().at;
    const VirtualTime inside = events_.empty() ? never : events_.top().at + shortest_exit_;
    return std::min(exit, inside);
}

void Fabric::set_line(std::size_t link, bool up, const LinePlan& plan) {
    lines_[2 * link + (up ? 0 : 1)].plan = plan;
    find_shortest_exit();
}

const PortCounters& Fabric::port_counters(std::size_t link, bool upper) const noexcept {
    const Line& towards = line(link, upper);
    return ports_[towards.to.index].counters;
}

void Fabric::forget_counters() noexcept {
    for (Line& line : lines_) {
        line.counters = {};
    }
    for (Port& port : ports_) {
        port.counters = {};
    }
}

std::int64_t Fabric::port_packets(std::size_t link, bool upper) const noexcept {
    const Line& towards = line(link, upper);
    return ports_[towards.to.index].level.packets;
}

// ---- events

void Fabric::schedule(Kind kind, VirtualTime at, std::uint32_t line, FrameIndex frame,
                      VirtualTime tail, std::uint32_t input) {
    constexpr unsigned rank_shift = 62;
    const bool departs = kind == Kind::line_free || kind == Kind::input_free;
    const std::uint64_t rank = departs ? 0 : kind == Kind::arrival ? 2 : 1;
    const std::uint64_t tie =
        kind == Kind::arrival ? mix(topology_.seed ^ scheduled_) >> 2U : scheduled_;
    ++scheduled_;
    const bool leaves = kind == Kind::arrival && lines_[line].to.host;
    (leaves ? exits_ : events_)
        .push({at, rank << rank_shift | tie, tail, line, frame, input, kind});
}

void Fabric::advance(VirtualTime until) {
    while (true) {
        const bool outside = !exits_.empty() && (events_.empty() || events_.top() > exits_.top());
        Events& next = outside ? exits_ : events_;
        if (next.empty() || next.top().at > until) {
            break;
        }
        const Event event = next.top();
        next.pop();
        now_ = event.at;
        handle(event);
    }
    now_ = std::max(now_, until);
}

void Fabric::handle(const Event& event) {
    switch (event.kind) {
    case Kind::line_free:
        free_line(event.line);
        break;
    case Kind::input_free:
        finish_input_head(lines_[event.line].from.index);
        break;
    case Kind::ready:
        get_ready(event);
        break;
    case Kind::pause:
    case Kind::resume:
        pause(event.line, event.kind == Kind::pause);
        break;
    case Kind::arrival:
        arrive(event);
        break;
    }
}

// ---- lines

void Fabric::send(std::uint32_t host, FrameIndex frame, VirtualTime ready) {
    Host& sender = hosts_[host];
    Line& line = lines_[sender.line];
    if (!line_takes(line, frame)) {
        frames_.release(frame);
        return;
    }
    sender.waiting.push_back({frame, std::max(ready, now_)});
    sender.waiting_time += time_on(line, frame);
    start_host(sender);
}

void Fabric::open_gate(VirtualTime at) {
    gate_open_ = true;
    for (Host& host : hosts_) {
        if (!host.waiting.empty()) {
            host.waiting.front().ready = std::max(host.waiting.front().ready, at);
        }
        start_host(host);
    }
}

void Fabric::start_host(Host& host) {
    Line& line = lines_[host.line];
    if (!gate_open_ || line.busy || line.paused || host.waiting.empty()) {
        return;
    }
    const Waiting next = host.waiting.front();
    host.waiting.pop_front();
    host.waiting_time -= time_on(line, next.frame);
    if (host.waiting.empty()) {
        host.waiting_time = 0; // whatever the line's rate was changed to meanwhile
    }
    transmit(host.line, next.frame, std::max(next.ready, now_));
    frames_.release(next.frame);
}

bool Fabric::line_takes(Line& line, FrameIndex frame) {
    constexpr std::int64_t vlan_tag_bytes = 4;
    const auto length = static_cast<std::int64_t>(frames_.length(frame));
    const bool takes = length <= line.plan.mtu_bytes +
                                     static_cast<std::int64_t>(frame_header_bytes) + vlan_tag_bytes;
    line.counters.oversize += takes ? 0U : 1U;
    return takes;
}

void Fabric::transmit(std::uint32_t line_index, FrameIndex frame, VirtualTime start) {
    Line& line = lines_[line_index];
    const VirtualTime end = start + time_on(line, frame);
    line.busy = true;
    schedule(Kind::line_free, end, line_index);
    ++line.counters.frames;
    line.counters.bytes += frames_.length(frame);
    const Fate fate = line.impairer.judge(line.plan, frames_.length(frame));
    switch (fate.loss) {
    case Loss::none:
        break;
    case Loss::random:
        ++line.counters.lost_random;
        return;
    case Loss::burst:
        ++line.counters.lost_burst;
        return;
    case Loss::every:
        ++line.counters.lost_every;
        return;
    case Loss::bit_error:
        ++line.counters.lost_bit_error;
        return;
    }
    const bool keep_order = !fate.held_back && line.plan.jitter.keep_order;
    line.counters.held_back += fate.held_back ? 1U : 0U;
    send_copy(line_index, frame, start, end, fate.extra_delay, keep_order);
    if (fate.duplicated) {
        ++line.counters.duplicated;
        send_copy(line_index, frame, start, end, fate.extra_delay, keep_order);
    }
}

// A held-back frame is overtaken by later ones; all others arrive in the order they were sent.
void Fabric::send_copy(std::uint32_t line_index, FrameIndex frame, VirtualTime start,
                       VirtualTime end, VirtualTime extra_delay, bool keep_order) {
    Line& line = lines_[line_index];
    const VirtualTime delay = delay_of(line) + extra_delay;
    VirtualTime tail = end + delay;
    if (keep_order) {
        tail = std::max(tail, line.last_arrival + 1);
        line.last_arrival = tail;
    }
    VirtualTime seen = tail;
    if (!line.to.host) {
        const Switch& at = switches_[ports_[line.to.index].of_switch];
        if (at.plan.cut_through) {
            const VirtualTime header = bits_time(header_bits, line.plan.rate_bit_per_s);
            seen = tail - (end - start) + std::min(header, end - start);
        }
        tail += from_ns(at.plan.latency_ns);
    }
    if (keep_order) { // else jitter lets a long frame's header be seen before a short frame's
        seen = std::max(seen, line.last_seen + 1);
        line.last_seen = seen;
    }
    frames_.share(frame);
    schedule(Kind::arrival, seen, line_index, frame, tail);
}

void Fabric::free_line(std::uint32_t line_index) {
    Line& line = lines_[line_index];
    line.busy = false;
    if (!line.from.host) {
        finish_output(line.from.index);
    }
    start_next(line_index);
}

void Fabric::pause(std::uint32_t line_index, bool paused) {
    lines_[line_index].paused = paused;
    start_next(line_index);
}

void Fabric::start_next(std::uint32_t line_index) {
    const End from = lines_[line_index].from;
    if (from.host) {
        start_host(hosts_[from.index]);
    } else {
        start_output(from.index);
    }
}

// ---- switches

void Fabric::arrive(const Event& event) {
    Line& line = lines_[event.line];
    ++line.counters.arrived;
    line.counters.arrived_bytes += frames_.length(event.frame);
    if (line.to.host) {
        exit_.deliver(line.to.index, event.frame, event.at);
        frames_.release(event.frame);
        return;
    }
    const std::uint32_t input = line.to.index;
    Switch& at = switches_[ports_[input].of_switch];
    const VirtualTime ready = now_ + from_ns(at.plan.latency_ns);
    Held held{event.frame, input, event.tail, ready, route(at, ports_[input], event.frame), 0};
    if (held.outputs.none()) {
        frames_.release(event.frame);
    } else if (at.plan.architecture == Architecture::input) {
        hold_at_input(input, held);
    } else {
        hold_at_outputs(input, held);
        frames_.release(event.frame); // every output has its own share
    }
}

// Where a frame goes on; nowhere where it is malformed or has come home already.
PortSet Fabric::route(Switch& at, Port& input, FrameIndex frame) {
    ++input.counters.received;
    PortSet outputs;
    const auto header = read_header(frames_.bytes(frame));
    if (!header) {
        ++input.counters.malformed;
        return outputs;
    }
    at.stations.learn(header->source, input.number, now_);
    const auto known =
        is_group(header->destination) ? std::nullopt : at.stations.find(header->destination, now_);
    if (known && *known == input.number) {
        ++input.counters.filtered;
        return outputs;
    }
    input.counters.flooded += known ? 0U : 1U;
    for (const std::uint32_t index : at.ports) {
        const Port& port = ports_[index];
        const bool wanted = known ? port.number == *known : port.number != input.number;
        if (wanted && line_takes(lines_[port.out_line], frame)) {
            outputs.set(port.number);
        }
    }
    return outputs;
}

void Fabric::hold_at_input(std::uint32_t input, Held held) {
    Port& port = ports_[input];
    Switch& at = switches_[port.of_switch];
    if (!find_room(at, port, frames_.length(held.frame))) {
        drop(port, held.frame);
        frames_.release(held.frame);
        return;
    }
    take_room(port, held);
    port.queue.push_back(held);
    if (port.queue.size() == 1) {
        offer_head(input);
    }
}

// A cut-through switch sends no frame on a faster line before it is sure of its end.
VirtualTime Fabric::ready_for(const Port& output, const Held& held) const noexcept {
    return std::max(held.ready, held.tail - time_on(lines_[output.out_line], held.frame));
}

void Fabric::hold_at_outputs(std::uint32_t input, const Held& held) {
    const Switch& at = switches_[ports_[input].of_switch];
    VirtualTime last_ready = ports_[input].last_ready;
    for (const std::uint32_t index : at.ports) {
        Port& port = ports_[index];
        if (!held.outputs.test(port.number)) {
            continue;
        }
        if (!find_room(at, port, frames_.length(held.frame))) {
            drop(port, held.frame);
            continue;
        }
        frames_.share(held.frame);
        take_room(port, held);
        // Whole frames are ready in the order in which they came. Else one must not hold a line
        // that others could use before, and none that came by the same port behind it goes ahead.
        const VirtualTime ready = std::max(ready_for(port, held), ports_[input].last_ready);
        if (at.plan.cut_through && ready > now_) {
            last_ready = std::max(last_ready, ready);
            schedule(Kind::ready, ready, port.out_line, held.frame, held.tail, input);
        } else {
            port.queue.push_back(held);
            start_output(index);
        }
    }
    ports_[input].last_ready = last_ready;
}

void Fabric::get_ready(const Event& event) {
    const std::uint32_t output = lines_[event.line].from.index;
    Port& port = ports_[output];
    if (switches_[port.of_switch].plan.architecture == Architecture::input) {
        ask(event.input, output);
        return;
    }
    port.queue.push_back({event.frame, event.input, event.tail, event.at, {}, 0});
    start_output(output);
}

// What a port has of the common memory with so many packets and bytes more.
Fabric::Level Fabric::of_pool(const Port& port, std::int64_t packets, std::int64_t bytes) noexcept {
    constexpr std::int64_t all = INT64_MAX; // of a reserve that only counts the other
    return {beyond_reserve(port.level.packets + packets, port.capacity.packets.value_or(all)),
            beyond_reserve(port.level.bytes + bytes, port.capacity.bytes.value_or(all))};
}

bool Fabric::find_room(const Switch& at, const Port& port, std::int64_t bytes) noexcept {
    if (at.plan.architecture != Architecture::shared) {
        return within(port.capacity, port.level.packets + 1, port.level.bytes + bytes);
    }
    const Level before = of_pool(port, 0, 0);
    const Level after = of_pool(port, 1, bytes);
    return within(at.plan.port_cap, after.packets, after.bytes) &&
           within(at.plan.capacity, at.level.packets + after.packets - before.packets,
                  at.level.bytes + after.bytes - before.bytes);
}

void Fabric::change_level(Port& port, std::int64_t packets, std::int64_t bytes) noexcept {
    Switch& at = switches_[port.of_switch];
    if (at.plan.architecture == Architecture::shared) {
        const Level before = of_pool(port, 0, 0);
        const Level after = of_pool(port, packets, bytes);
        at.level.packets += after.packets - before.packets;
        at.level.bytes += after.bytes - before.bytes;
    }
    port.level.packets += packets;
    port.level.bytes += bytes;
}

void Fabric::take_room(Port& port, const Held& held) {
    const auto bytes = static_cast<std::int64_t>(frames_.length(held.frame));
    const Switch& at = switches_[port.of_switch];
    change_level(port, 1, bytes);
    port.counters.most_packets = std::max(port.counters.most_packets, port.level.packets);
    port.counters.most_bytes = std::max(port.counters.most_bytes, port.level.bytes);
    Port& input = ports_[held.input];
    ++input.came_by;
    const auto& marks = at.plan.pause;
    if (marks && !input.asked_to_pause && input.came_by >= marks->high_packets) {
        ++input.counters.pauses;
        ask_to_pause(input, true);
    }
}

void Fabric::leave_room(Port& port, const Held& held) {
    const auto bytes = static_cast<std::int64_t>(frames_.length(held.frame));
    const Switch& at = switches_[port.of_switch];
    change_level(port, -1, -bytes);
    Port& input = ports_[held.input];
    --input.came_by;
    const auto& marks = at.plan.pause;
    if (marks && input.asked_to_pause && input.came_by <= marks->low_packets) {
        ask_to_pause(input, false);
    }
}

// What is asked is heard in that order, also where the line became faster meanwhile: a pause after
// its end would never end.
void Fabric::ask_to_pause(Port& input, bool paused) {
    const LinePlan& back = lines_[input.out_line].plan;
    const VirtualTime heard =
        now_ + bits_time(pause_frame_bits, back.rate_bit_per_s) + from_ns(back.delay_ns);
    input.asked_to_pause = paused;
    input.last_ask = std::max(input.last_ask, heard);
    schedule(paused ? Kind::pause : Kind::resume, input.last_ask, input.in_line);
}

void Fabric::drop(Port& port, FrameIndex frame) {
    ++port.counters.dropped;
    port.counters.dropped_bytes += frames_.length(frame);
}

// ---- outputs

void Fabric::start_output(std::uint32_t output) {
    Port& port = ports_[output];
    const Line& line = lines_[port.out_line];
    if (line.busy || line.paused) {
        return;
    }
    if (switches_[port.of_switch].plan.architecture == Architecture::input) {
        start_longest_asking(output);
    } else if (!port.queue.empty()) {
        const Held& next = port.queue.front();
        ++port.counters.forwarded;
        transmit(port.out_line, next.frame, std::max(now_, next.ready));
    }
}

// Each input in its turn: the one whose head has asked longest. An input is free for its next frame
// when this one has gone, or, where that is sooner, has been read as fast as it came in.
void Fabric::start_longest_asking(std::uint32_t output) {
    Port& port = ports_[output];
    if (port.asking.empty()) {
        return;
    }
    port.serving = port.asking.front();
    port.asking.pop_front();
    const Port& input = ports_[port.serving];
    Held& next = ports_[port.serving].queue.front();
    next.outputs.reset(port.number);
    ++next.under_way;
    ++port.counters.forwarded;
    const VirtualTime read = std::min(time_on(lines_[input.in_line], next.frame),
                                      time_on(lines_[port.out_line], next.frame));
    schedule(Kind::input_free, now_ + read, port.out_line); // at one instant before the line is
    transmit(port.out_line, next.frame, now_);
}

void Fabric::finish_output(std::uint32_t output) {
    Port& port = ports_[output];
    if (switches_[port.of_switch].plan.architecture == Architecture::input) {
        return; // its input is free already
    }
    const Held sent = port.queue.front();
    port.queue.pop_front();
    leave_room(port, sent);
    frames_.release(sent.frame);
}

void Fabric::finish_input_head(std::uint32_t output) {
    Port& port = ports_[output];
    Port& input = ports_[port.serving];
    Held& head = input.queue.front();
    --head.under_way;
    if (head.under_way > 0 || head.outputs.any()) {
        return;
    }
    const Held sent = head;
    input.queue.pop_front();
    leave_room(input, sent);
    frames_.release(sent.frame);
    offer_head(port.serving);
}

// The first frame of an input asks for its outputs as soon as it may leave for them.
void Fabric::offer_head(std::uint32_t input_index) {
    const Port& input = ports_[input_index];
    if (input.queue.empty()) {
        return;
    }
    const Held head = input.queue.front(); // asking may send it at once
    const Switch& at = switches_[input.of_switch];
    for (std::size_t number = 0; number < at.ports.size(); ++number) {
        if (!head.outputs.test(number)) {
            continue;
        }
        const std::uint32_t output = at.ports[number];
        const VirtualTime ready = ready_for(ports_[output], head);
        if (ready > now_) {
            schedule(Kind::ready, ready, ports_[output].out_line, 0, 0, input_index);
        } else {
            ask(input_index, output);
        }
    }
}

void Fabric::ask(std::uint32_t input, std::uint32_t output) {
    ports_[output].asking.push_back(input);
    start_output(output);
}

} // namespace sonde
