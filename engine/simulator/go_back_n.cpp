#include "simulator/go_back_n.hpp"

#include <algorithm>

namespace sonde::simulator {

bool GoBackN::may_send(std::uint32_t host) const {
    const PerHost& at = of_[host];
    return at.first_message != none || !at.control.empty() || at.resends_taken < at.resends.size();
}

bool GoBackN::may_send_new(const Flow& flow) const {
    return flow.state == Sender::normal && flow.next - flow.base < plan_.window_packets &&
           within_global_window(of_[flow.source]);
}

// Answers first, then what is sent again, then what is new.
std::uint32_t GoBackN::next(std::uint32_t host_index) {
    PerHost& host = of_[host_index];
    if (!host.control.empty()) {
        return host.control.pop(packets_);
    }
    std::uint32_t packet = next_resend(host);
    if (packet == none) {
        packet = Transport::next(host_index);
        if (packet == none) {
            return none;
        }
        const Packet& made = packets_[packet];
        Slot& slot = flows_[made.flow].add_slot(made.sequence);
        slot.payload_bytes = made.payload_bytes;
        slot.last = made.last;
    }
    leave(packets_[packet].flow, packet);
    return packet;
}

std::uint32_t GoBackN::next_resend(PerHost& host) {
    while (host.resends_taken < host.resends.size()) {
        const Resend again = host.resends[host.resends_taken++];
        if (host.resends_taken == host.resends.size()) {
            host.resends.clear();
            host.resends_taken = 0;
        }
        Flow& flow = flows_[again.flow];
        if (--flow.resends == 0 && flow.state == Sender::resend) {
            flow.state = flow.unstalled ? Sender::normal : Sender::stall;
        }
        if (again.sequence < flow.base) { // acknowledged meanwhile
            continue;
        }
        Slot& slot = flow.slot(again.sequence);
        slot.resend = false;
        ++host.counts.retransmitted;
        return make_data(again.flow, again.sequence, flow.target, slot.payload_bytes, slot.last);
    }
    return none;
}

// A packet's timer starts with each sending, and an acknowledgement may go with it.
void GoBackN::leave(std::uint32_t flow_index, std::uint32_t packet_index) {
    Flow& flow = flows_[flow_index];
    Packet& packet = packets_[packet_index];
    const VirtualTime deadline = events_.now() + plan_.timeout;
    flow.slot(packet.sequence).deadline = deadline;
    set_timer(flow_index, deadline);
    if (plan_.acknowledge == Acknowledge::piggyback && flow.reverse != none &&
        flows_[flow.reverse].unanswered > 0) {
        packet.answers = true;
        packet.answer = flows_[flow.reverse].expected;
        flows_[flow.reverse].unanswered = 0;
    }
}

// Timers of one flow are set in the order in which they run out, but for those that wait: one
// event for the earliest is enough.
void GoBackN::set_timer(std::uint32_t flow_index, VirtualTime at) {
    Flow& flow = flows_[flow_index];
    if (!flow.timer_set) {
        flow.timer_set = true;
        events_.push(at, EventKind::timer, 0, flow_index);
    }
}

void GoBackN::on_timer(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    flow.timer_set = false;
    VirtualTime earliest = never;
    for (std::uint32_t sequence = flow.base; sequence != flow.next; ++sequence) {
        Slot& slot = flow.slot(sequence);
        if (slot.resend) {
            continue;
        }
        if (slot.deadline > events_.now()) {
            earliest = std::min(earliest, slot.deadline);
            continue;
        }
        if (sequence == flow.base) { // those behind it run out with it: one batch is one event
            note(flow, SenderEvent::time_out);
        }
        resend(flow_index, sequence);
    }
    if (earliest != never) {
        set_timer(flow_index, earliest);
    }
    hosts_.poke(flow.source);
}

void GoBackN::resend(std::uint32_t flow_index, std::uint32_t sequence) {
    Flow& flow = flows_[flow_index];
    flow.slot(sequence).resend = true;
    ++flow.resends;
    of_[flow.source].resends.push_back({flow_index, sequence});
}

// ---- the receiver

void GoBackN::receive(std::uint32_t host, std::uint32_t packet_index) {
    const Packet packet = packets_[packet_index];
    packets_.give(packet_index);
    if (packet.kind == PacketKind::pack) {
        take_pack(packet.flow, packet.answer);
    } else if (packet.kind == PacketKind::nack) {
        take_nack(packet.flow, packet.answer);
    } else {
        if (packet.answers) {
            take_pack(flows_.reverse_of(packet.flow), packet.answer);
        }
        take_data(packet.flow, packet);
    }
    hosts_.poke(host);
}

void GoBackN::take_data(std::uint32_t flow_index, const Packet& packet) {
    Flow& flow = flows_[flow_index];
    HostCounts& counts = of_[flow.target].counts;
    if (packet.sequence == flow.expected) {
        accept(flow_index, packet);
    } else if (packet.sequence < flow.expected) { // the acknowledgement may have been lost
        ++counts.duplicate;
        answer(flow_index, PacketKind::pack, flow.expected);
    } else {
        ++counts.out_of_order;
        if (plan_.fast_retransmit && !flow.stalled) { // one Nack for each gap
            flow.stalled = true;
            answer(flow_index, PacketKind::nack, flow.expected);
        }
    }
}

void GoBackN::accept(std::uint32_t flow_index, const Packet& packet) {
    Flow& flow = flows_[flow_index];
    ++flow.expected;
    flow.stalled = false;
    ++flow.unanswered;
    if (plan_.acknowledge == Acknowledge::immediate || flow.unanswered >= plan_.delay_packets) {
        answer(flow_index, PacketKind::pack, flow.expected);
    } else {
        (void)flows_.reverse_of(flow_index); // by which it may go
        if (!flow.answer_set) {
            flow.answer_set = true;
            events_.push(events_.now() + plan_.delay, EventKind::late_answer, 0, flow_index);
        }
    }
    deliver(flow_index, flow.target, packet);
}

void GoBackN::on_late_answer(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    flow.answer_set = false;
    if (flow.unanswered > 0) {
        answer(flow_index, PacketKind::pack, flow.expected);
    }
}

// ---- the sender

void GoBackN::slide(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    require(number <= flow.next, "a packet was acknowledged that was never sent");
    PerHost& host = of_[flow.source];
    host.under_way -= number - flow.base;
    flow.base = number;
    if (is_settled(flow.source)) {
        workload_->settled(flow.source);
    }
}

void GoBackN::take_pack(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    if (number <= flow.base) { // an answer to what was sent twice
        return;
    }
    note(flow, SenderEvent::pack);
    if (flow.state == Sender::stall) {
        flow.state = Sender::normal;
    }
    flow.unstalled = true;
    slide(flow_index, number);
}

void GoBackN::take_nack(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    if (number < flow.base || flow.base == flow.next) { // overtaken by what it asks for
        return;
    }
    note(flow, SenderEvent::nack);
    flow.state = Sender::resend;
    flow.unstalled = false;
    if (number > flow.base) {
        slide(flow_index, number);
    }
    for (std::uint32_t sequence = flow.base; sequence != flow.next; ++sequence) {
        if (!flow.slot(sequence).resend) {
            resend(flow_index, sequence);
        }
    }
}

} // namespace sonde::simulator
