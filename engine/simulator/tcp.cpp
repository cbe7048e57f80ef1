#include "simulator/tcp.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sonde::simulator {

namespace {

constexpr VirtualTime first_timeout = from_ns(1'000'000'000);     // RFC 6298
constexpr VirtualTime longest_timeout = from_ns(120'000'000'000); // as Linux has it
constexpr std::uint32_t duplicates_for_loss = 3;                  // RFC 5681
constexpr std::uint32_t packets_for_answer = 2;                   // RFC 1122
constexpr double least_threshold = 2.0;
constexpr std::size_t least_slots = 8;

} // namespace

Tcp::Tcp(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts)
    : Transport(scenario, events, packets, hosts), ready_(scenario.hosts) {}

TcpState& Tcp::state(std::uint32_t flow_index) {
    if (flow_index >= states_.size()) {
        states_.resize(std::max<std::size_t>(flows_.size(), 2 * states_.size()));
    }
    std::unique_ptr<TcpState>& state = states_[flow_index];
    if (!state) {
        state = std::make_unique<TcpState>();
        state->window = static_cast<double>(plan_.initial_window_packets);
        state->timeout = std::max(first_timeout, plan_.timeout);
    }
    return *state;
}

Slot& TcpState::add_slot(std::uint32_t sequence) {
    if (sequence - base >= slots.size()) {
        std::vector<Slot> more(slots.empty() ? least_slots : 2 * slots.size());
        for (std::uint32_t i = base; i != sequence; ++i) {
            more[i & (more.size() - 1)] = slot(i);
        }
        slots = std::move(more);
    }
    Slot& added = slot(sequence);
    added = Slot{};
    return added;
}

// ---- what is sent next: each flow has a queue of its own, as each socket has

void Tcp::enqueue(std::uint32_t message) {
    const std::uint32_t flow_index = messages_[message].flow;
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    if (tcp.first_message == none) {
        tcp.first_message = message;
    } else {
        messages_[tcp.last_message].next = message;
    }
    tcp.last_message = message;
    ++of_[flow.source].waiting_messages;
    make_ready(flow_index);
}

void Tcp::make_ready(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    if (!tcp.ready) {
        tcp.ready = true;
        ready_[flow.source].flows.push_back(flow_index);
    }
}

bool Tcp::may_send(std::uint32_t host) const {
    return !of_[host].control.empty() || ready_[host].taken < ready_[host].flows.size();
}

std::uint32_t Tcp::next(std::uint32_t host_index) {
    PerHost& host = of_[host_index];
    if (!host.control.empty()) {
        return host.control.pop(packets_);
    }
    Ready& ready = ready_[host_index];
    while (ready.taken < ready.flows.size()) {
        const std::uint32_t flow_index = ready.flows[ready.taken++];
        if (2 * ready.taken > ready.flows.size()) { // at most half of it is behind us
            ready.flows.erase(ready.flows.begin(),
                              ready.flows.begin() + static_cast<std::ptrdiff_t>(ready.taken));
            ready.taken = 0;
        }
        state(flow_index).ready = false;
        const std::uint32_t packet = next_of(flow_index);
        if (packet != none) {
            make_ready(flow_index); // behind the others
            return packet;
        }
        hold(flow_index);
    }
    return none;
}

// What only the host's window keeps from sending waits for that, not for an answer of its own.
void Tcp::hold(std::uint32_t flow_index) {
    TcpState& tcp = state(flow_index);
    const std::uint32_t source = flows_[flow_index].source;
    if (tcp.first_message != none && !tcp.held && !within_global_window(of_[source])) {
        tcp.held = true;
        ready_[source].held.push_back(flow_index);
    }
}

void Tcp::release_held(std::uint32_t host) {
    for (const std::uint32_t flow_index : std::exchange(ready_[host].held, {})) {
        state(flow_index).held = false;
        make_ready(flow_index);
    }
}

std::uint32_t Tcp::next_of(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    const double flying =
        tcp.repairing ? in_flight(flow, tcp) : static_cast<double>(flow.next - tcp.base);
    if (tcp.repairing && (tcp.at_once || flying < tcp.window)) {
        tcp.at_once = false;
        const std::uint32_t again = next_repair(flow_index);
        if (again != none) {
            return again;
        }
    }
    return next_new(flow_index, flying);
}

std::uint32_t Tcp::next_new(std::uint32_t flow_index, double flying) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    const std::uint32_t message = tcp.first_message;
    if (message == none || flying >= tcp.window || flow.next - tcp.base >= plan_.window_packets ||
        !within_global_window(of_[flow.source])) {
        return none;
    }
    bool ends = false;
    const std::uint32_t packet_index = make_new(message, ends);
    const Packet& packet = packets_[packet_index];
    Slot& slot = tcp.add_slot(packet.sequence);
    slot.sent = events_.now();
    slot.payload_bytes = packet.payload_bytes;
    slot.last = packet.last;
    if (tcp.deadline == never) {
        start_timer(flow_index);
    }
    if (ends) {
        tcp.first_message = messages_[message].next;
        --of_[flow.source].waiting_messages;
        message_handed(flow.source, message);
    }
    return packet_index;
}

// Of what is outstanding while losses are repaired: what is neither held by the receiver nor lost.
double Tcp::in_flight(const Flow& flow, const TcpState& tcp) {
    std::uint32_t count = 0;
    for (std::uint32_t sequence = tcp.base; sequence != flow.next; ++sequence) {
        const Slot& slot = tcp.slot(sequence);
        count += !slot.held && (slot.resend || !is_lost(tcp, sequence)) ? 1U : 0U;
    }
    return static_cast<double>(count);
}

bool Tcp::is_lost(const TcpState& tcp, std::uint32_t sequence) {
    return sequence < tcp.recover &&
           (tcp.by_timeout || sequence == tcp.base || sequence < tcp.highest_held);
}

// Slot::resend: sent again in this repair.
std::uint32_t Tcp::next_repair(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    for (std::uint32_t sequence = tcp.base; sequence != tcp.recover; ++sequence) {
        Slot& slot = tcp.slot(sequence);
        if (slot.held || slot.resend || !is_lost(tcp, sequence)) {
            continue;
        }
        slot.resend = slot.again = true;
        ++of_[flow.source].counts.retransmitted;
        start_timer(flow_index);
        return make_data(flow_index, sequence, flow.target, slot.payload_bytes, slot.last);
    }
    return none;
}

// ---- acknowledgements

void Tcp::receive(std::uint32_t host, std::uint32_t packet_index) {
    if (packets_[packet_index].kind == PacketKind::data) {
        take_data(packets_[packet_index].flow, packet_index);
    } else {
        const Packet packet = packets_[packet_index];
        packets_.give(packet_index);
        take_answer(packet.flow, packet);
    }
    hosts_.poke(host);
}

void Tcp::take_answer(std::uint32_t flow_index, const Packet& packet) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    if (plan_.selective) {
        for (std::uint32_t held = std::max(packet.sequence, tcp.base);
             held < std::min(packet.beyond, flow.next); ++held) {
            tcp.slot(held).held = true;
            tcp.highest_held = std::max(tcp.highest_held, held + 1);
        }
    }
    if (packet.answer > tcp.base) {
        take_new(flow_index, packet.answer);
    } else if (packet.answer == tcp.base && flow.next != tcp.base && packet.beyond > 0) {
        take_duplicate(flow_index);
    }
    make_ready(flow_index);
}

void Tcp::take_new(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    require(number <= flow.next, "a packet was acknowledged that was never sent");
    note(flow_index, protocol::Event::pack);
    measure(tcp, number);
    const auto acknowledged = static_cast<double>(number - tcp.base);
    of_[flow.source].under_way -= number - tcp.base;
    release_held(flow.source);
    tcp.base = number;
    tcp.duplicates = 0;
    if (tcp.repairing && number >= tcp.recover) {
        tcp.repairing = false;
        tcp.window = tcp.by_timeout ? tcp.window : tcp.threshold;
    } else if (tcp.repairing && !tcp.by_timeout) {
        tcp.at_once = !plan_.selective; // the next gap is lost as well: RFC 6582
    }
    if (!tcp.repairing || tcp.by_timeout) {
        tcp.window += tcp.window < tcp.threshold ? acknowledged : acknowledged / tcp.window;
    }
    if (tcp.base == flow.next) {
        tcp.deadline = never;
    } else {
        start_timer(flow_index);
    }
    if (is_settled(flow.source)) {
        workload_->settled(flow.source);
    }
}

void Tcp::take_duplicate(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    ++tcp.duplicates;
    if (tcp.repairing) {
        if (!plan_.selective && !tcp.by_timeout) {
            tcp.window += 1.0; // a packet has left the network
        }
        return;
    }
    if (tcp.duplicates == duplicates_for_loss && tcp.base >= tcp.recover) {
        note(flow_index, protocol::Event::nack);
        begin_repair(flow, tcp, false);
    }
}

void Tcp::begin_repair(Flow& flow, TcpState& tcp, bool by_timeout) {
    tcp.threshold = std::max(least_threshold,
                             std::min(tcp.window, static_cast<double>(flow.next - tcp.base)) / 2.0);
    tcp.window = by_timeout ? 1.0 : tcp.threshold;
    tcp.repairing = true;
    tcp.by_timeout = by_timeout;
    tcp.at_once = true;
    tcp.recover = flow.next;
    tcp.duplicates = 0;
    for (std::uint32_t sequence = tcp.base; sequence != flow.next; ++sequence) {
        tcp.slot(sequence).resend = false;
    }
}

void Tcp::note(std::uint32_t flow_index, protocol::Event event) {
    count(flows_[flow_index].source, event);
    if (protocol::Log* log = log_of(flow_index)) {
        log->note(event, events_.now());
    }
}

// RFC 6298; what was sent twice says nothing (Karn).
void Tcp::measure(TcpState& tcp, std::uint32_t number) {
    const Slot& slot = tcp.slot(number - 1);
    if (slot.again) {
        return;
    }
    const VirtualTime trip = events_.now() - slot.sent;
    if (tcp.smoothed == 0) {
        tcp.smoothed = trip;
        tcp.variation = trip / 2;
    } else {
        const VirtualTime off = trip > tcp.smoothed ? trip - tcp.smoothed : tcp.smoothed - trip;
        tcp.variation += (off - tcp.variation) / 4;
        tcp.smoothed += (trip - tcp.smoothed) / 8;
    }
    // As Linux has it: the least time-out bounds the part that is the variation's.
    tcp.timeout =
        std::min(longest_timeout, tcp.smoothed + std::max(plan_.timeout, 4 * tcp.variation));
}

// One event for the timer: where it was moved on meanwhile, it is set again.
void Tcp::start_timer(std::uint32_t flow_index) {
    TcpState& tcp = state(flow_index);
    tcp.deadline = events_.now() + tcp.timeout;
    if (!tcp.timer_set) {
        tcp.timer_set = true;
        events_.push(tcp.deadline, EventKind::timer, 0, flow_index);
    }
}

void Tcp::on_timer(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    tcp.timer_set = false;
    if (tcp.deadline == never) {
        return;
    }
    if (tcp.deadline > events_.now()) {
        tcp.timer_set = true;
        events_.push(tcp.deadline, EventKind::timer, 0, flow_index);
        return;
    }
    note(flow_index, protocol::Event::time_out);
    tcp.timeout = std::min(longest_timeout, 2 * tcp.timeout);
    begin_repair(flow, tcp, true);
    start_timer(flow_index);
    make_ready(flow_index);
    hosts_.poke(flow.source);
}

// ---- the receiver

void Tcp::take_data(std::uint32_t flow_index, std::uint32_t packet_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    const std::uint32_t sequence = packets_[packet_index].sequence;
    if (sequence < tcp.expected) {
        ++of_[flow.target].counts.duplicate;
        packets_.give(packet_index);
        acknowledge(flow_index);
        return;
    }
    if (sequence > tcp.expected) {
        keep_beyond(flow_index, packet_index);
        return;
    }
    const bool had_gap = tcp.kept > 0;
    for (std::uint32_t at = packet_index; at != none;) {
        ++tcp.expected;
        ++tcp.unanswered;
        deliver(flow_index, flow.target, packets_[at]);
        packets_.give(at);
        at = none;
        if (tcp.kept > 0) {
            std::swap(at, tcp.beyond[tcp.expected & (tcp.beyond.size() - 1)]);
            tcp.kept -= at != none ? 1 : 0;
        }
    }
    if (had_gap || plan_.delay == 0 || tcp.unanswered >= packets_for_answer) {
        acknowledge(flow_index);
    } else if (!tcp.answer_set) {
        tcp.answer_set = true;
        events_.push(events_.now() + plan_.delay, EventKind::late_answer, 0, flow_index);
    }
}

void Tcp::acknowledge(std::uint32_t flow_index) {
    TcpState& tcp = state(flow_index);
    tcp.unanswered = 0;
    answer(flow_index, PacketKind::pack, tcp.expected);
}

void Tcp::keep_beyond(std::uint32_t flow_index, std::uint32_t packet_index) {
    Flow& flow = flows_[flow_index];
    TcpState& tcp = state(flow_index);
    if (tcp.beyond.empty()) {
        tcp.beyond.assign(std::bit_ceil(static_cast<std::size_t>(plan_.window_packets) + 1), none);
    }
    const std::uint32_t sequence = packets_[packet_index].sequence;
    std::uint32_t& kept = tcp.beyond[sequence & (tcp.beyond.size() - 1)];
    HostCounts& counts = of_[flow.target].counts;
    if (kept != none) {
        ++counts.duplicate;
        packets_.give(packet_index);
    } else {
        ++counts.out_of_order;
        kept = packet_index;
        ++tcp.kept;
    }
    answer_range(flow_index, sequence);
}

// Says what is expected, and the packets in a row that are held around the one that came last.
void Tcp::answer_range(std::uint32_t flow_index, std::uint32_t around) {
    Flow& flow = flows_[flow_index];
    const TcpState& tcp = state(flow_index);
    const auto held = [&](std::uint32_t sequence) {
        return tcp.beyond[sequence & (tcp.beyond.size() - 1)] != none;
    };
    std::uint32_t first = around, end = around + 1;
    while (first - 1 > tcp.expected && held(first - 1)) {
        --first;
    }
    while (end - tcp.expected < tcp.beyond.size() && held(end)) {
        ++end;
    }
    acknowledge(flow_index);
    Packet& packet = packets_[of_[flow.target].control.last];
    packet.sequence = first;
    packet.beyond = end;
}

void Tcp::on_late_answer(std::uint32_t flow_index) {
    TcpState& tcp = state(flow_index);
    tcp.answer_set = false;
    if (tcp.unanswered > 0) {
        acknowledge(flow_index);
    }
}

} // namespace sonde::simulator
