#include "simulator/go_back_n.hpp"

namespace sonde::simulator {

namespace {

constexpr std::uint64_t last_bit = std::uint64_t{1} << 32U;

// What the sender is to know of a packet that it may have to send again.
std::uint64_t keep(const Packet& packet) {
    return packet.payload_bytes | (packet.last ? last_bit : 0);
}

} // namespace

GoBackN::GoBackN(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts)
    : Transport(scenario, events, packets, hosts), send_rules_{static_cast<std::uint32_t>(
                                                                   plan_.window_packets),
                                                               plan_.timeout,
                                                               plan_.fast_retransmit},
      answer_rules_{plan_.acknowledge, static_cast<std::uint32_t>(plan_.delay_packets), plan_.delay,
                    plan_.fast_retransmit},
      resends_(scenario.hosts) {}

bool GoBackN::may_send(std::uint32_t host) const {
    const PerHost& at = of_[host];
    return at.first_message != none || !at.control.empty() || !resends_[host].empty();
}

bool GoBackN::may_send_new(const Flow& flow) const {
    return flow.sender.may_send_new(send_rules_) && within_global_window(of_[flow.source]);
}

std::uint32_t GoBackN::next(std::uint32_t host_index) {
    PerHost& host = of_[host_index];
    if (!host.control.empty()) {
        return host.control.pop(packets_);
    }
    const std::uint32_t again = next_resend(host_index);
    return again != none ? again : next_new(host_index);
}

std::uint32_t GoBackN::next_resend(std::uint32_t host_index) {
    Resends& resends = resends_[host_index];
    while (!resends.empty()) {
        const std::uint32_t flow_index = resends.first();
        Flow& flow = flows_[flow_index];
        if (!flow.sender.has_resend()) { // all was acknowledged meanwhile
            resends.pop();
            continue;
        }
        const protocol::Sent sent =
            flow.sender.send_again(send_rules_, events_.now(), log_of(flow_index));
        if (!flow.sender.has_resend()) {
            resends.pop();
        }
        ++of_[host_index].counts.retransmitted;
        const std::uint32_t packet =
            make_data(flow_index, sent.number, flow.target, static_cast<std::uint32_t>(sent.kept),
                      (sent.kept & last_bit) != 0);
        leave(flow_index, packet, sent.timer_at);
        return packet;
    }
    return none;
}

std::uint32_t GoBackN::next_new(std::uint32_t host_index) {
    const std::uint32_t packet_index = Transport::next(host_index);
    if (packet_index != none) {
        const Packet& packet = packets_[packet_index];
        const protocol::Sent sent =
            flows_[packet.flow].sender.send_new(send_rules_, events_.now(), keep(packet));
        require(sent.number == packet.sequence, "a flow and its sender count differently");
        leave(packet.flow, packet_index, sent.timer_at);
    }
    return packet_index;
}

void GoBackN::leave(std::uint32_t flow_index, std::uint32_t packet_index, VirtualTime timer_at) {
    set_timer(EventKind::timer, flows_[flow_index].source, flow_index, timer_at);
    if (plan_.acknowledge != Acknowledge::piggyback || flows_[flow_index].reverse == none) {
        return;
    }
    protocol::Receiver& back = flows_[flows_[flow_index].reverse].receiver;
    if (back.answers_along()) {
        packets_[packet_index].answers = true;
        packets_[packet_index].answer = back.expected();
    }
}

void GoBackN::set_timer(EventKind kind, std::uint32_t host, std::uint32_t flow_index,
                        VirtualTime at) {
    if (at != protocol::never) {
        events_.push(at + hosts_.timer_late(host), kind, 0, flow_index);
    }
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
    const protocol::Taken taken = flow.receiver.take(packet.sequence, answer_rules_, events_.now());
    HostCounts& counts = of_[flow.target].counts;
    counts.duplicate += taken.arrival == protocol::Arrival::duplicate ? 1 : 0;
    counts.out_of_order += taken.arrival == protocol::Arrival::out_of_order ? 1 : 0;
    say(flow_index, taken.answer);
    set_timer(EventKind::late_answer, flow.target, flow_index, taken.timer_at);
    if (taken.arrival == protocol::Arrival::accepted) {
        if (plan_.acknowledge == Acknowledge::piggyback) {
            (void)flows_.reverse_of(flow_index); // by which an answer may go
        }
        deliver(flow_index, flow.target, packet);
    }
}

void GoBackN::say(std::uint32_t flow_index, protocol::Answer with) {
    if (with != protocol::Answer::none) {
        const bool missing = with == protocol::Answer::nack;
        answer(flow_index, missing ? PacketKind::nack : PacketKind::pack,
               flows_[flow_index].receiver.expected());
    }
}

void GoBackN::on_late_answer(std::uint32_t flow_index) {
    if (flows_[flow_index].receiver.on_timer()) {
        say(flow_index, protocol::Answer::pack);
    }
}

// ---- the sender

void GoBackN::settle(std::uint32_t host, std::uint32_t acknowledged) {
    of_[host].under_way -= acknowledged;
    if (acknowledged > 0 && is_settled(host)) {
        workload_->settled(host);
    }
}

void GoBackN::take_pack(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    require(flow.sender.may_be_expected(number), "a packet was acknowledged that was never sent");
    const std::uint32_t acknowledged =
        flow.sender.take_pack(number, events_.now(), log_of(flow_index));
    if (acknowledged > 0) {
        count(flow.source, protocol::Event::pack);
        settle(flow.source, acknowledged);
    }
}

void GoBackN::take_nack(std::uint32_t flow_index, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    const bool had = flow.sender.has_resend();
    const auto missed = flow.sender.take_nack(number, events_.now(), log_of(flow_index));
    if (!missed.counts) {
        return;
    }
    count(flow.source, protocol::Event::nack);
    if (!had) {
        resends_[flow.source].push(flow_index);
    }
    settle(flow.source, missed.acknowledged);
}

void GoBackN::on_timer(std::uint32_t flow_index) {
    Flow& flow = flows_[flow_index];
    const bool had = flow.sender.has_resend();
    const protocol::TimedOut out =
        flow.sender.on_timer(send_rules_, events_.now(), log_of(flow_index));
    if (out.packets > 0) {
        count(flow.source, protocol::Event::time_out, out.packets);
    }
    if (!had && flow.sender.has_resend()) {
        resends_[flow.source].push(flow_index);
    }
    set_timer(EventKind::timer, flow.source, flow_index, out.timer_at);
    hosts_.poke(flow.source);
}

} // namespace sonde::simulator
