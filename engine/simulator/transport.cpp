#include "simulator/transport.hpp"

#include <algorithm>

#include "core/failure.hpp"
#include "simulator/go_back_n.hpp"
#include "simulator/tcp.hpp"

namespace sonde::simulator {

Transport::Transport(const Scenario& scenario, EventQueue& events, PacketPool& packets,
                     Hosts& hosts)
    : scenario_(scenario), plan_(scenario.transport), events_(events), packets_(packets),
      hosts_(hosts),
      flows_(scenario.hosts, static_cast<std::uint64_t>(scenario.limits.memory_bytes)),
      of_(scenario.hosts), global_window_(scenario.transport.global_window_packets) {
    if (scenario.record.packets) {
        kept_.resize(scenario.hosts);
    }
}

void Transport::limit_window(std::int64_t packets) {
    global_window_ = global_window_ == 0 ? packets : std::min(global_window_, packets);
}

// ---- messages

std::uint32_t Transport::new_message(const Message& message) {
    if (free_message_ == none) {
        messages_.push_back(message);
        return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t index = free_message_;
    free_message_ = messages_[index].next;
    messages_[index] = message;
    return index;
}

// A message of no bytes is one packet without payload.
void Transport::post(std::uint32_t flow, std::int64_t bytes, std::int64_t tag) {
    const std::int64_t payload = scenario_.workload.payload_bytes;
    const std::int64_t packets = std::max<std::int64_t>(1, (bytes + payload - 1) / payload);
    const Flow& of = flows_[flow];
    if (of.next + packets > UINT32_MAX / 2) {
        throw Failure("limit", "more than 2 147 483 647 packets from one host to another");
    }
    HostCounts& counts = of_[of.source].counts;
    ++counts.messages_sent;
    counts.bytes_sent += static_cast<std::uint64_t>(bytes);
    counts.packets_sent += static_cast<std::uint64_t>(packets);
    enqueue(new_message({flow, of.target, packets, bytes - (packets - 1) * payload, tag, none}));
    hosts_.poke(of.source);
}

void Transport::post_one(std::uint32_t flow, std::uint32_t target, std::int64_t tag) {
    const std::int64_t payload = scenario_.workload.payload_bytes;
    const std::uint32_t source = flows_[flow].source;
    HostCounts& counts = of_[source].counts;
    ++counts.messages_sent;
    counts.bytes_sent += static_cast<std::uint64_t>(payload);
    ++counts.packets_sent;
    enqueue(new_message({flow, target, 1, payload, tag, none}));
    hosts_.poke(source);
}

void Transport::enqueue(std::uint32_t message) {
    PerHost& host = of_[flows_[messages_[message].flow].source];
    if (host.first_message == none) {
        host.first_message = message;
    } else {
        messages_[host.last_message].next = message;
    }
    host.last_message = message;
}

bool Transport::may_send(std::uint32_t host) const {
    return of_[host].first_message != none || !of_[host].control.empty();
}

bool Transport::may_send_new(const Flow& flow) const {
    return within_global_window(of_[flow.source]);
}

// Messages are sent in their order: one that has to wait holds up those behind it.
std::uint32_t Transport::next(std::uint32_t host_index) {
    PerHost& host = of_[host_index];
    const std::uint32_t message = host.first_message;
    if (message == none || !may_send_new(flows_[messages_[message].flow])) {
        return none;
    }
    bool ends = false;
    const std::uint32_t packet = make_new(message, ends);
    if (ends) {
        host.first_message = messages_[message].next;
        message_handed(host_index, message);
    }
    return packet;
}

std::uint32_t Transport::make_new(std::uint32_t message_index, bool& message_ends) {
    Message& message = messages_[message_index];
    Flow& flow = flows_[message.flow];
    --message.packets;
    message_ends = message.packets == 0;
    const std::int64_t payload =
        message_ends ? message.last_bytes : scenario_.workload.payload_bytes;
    const std::uint32_t sequence = flow.next++;
    ++of_[flow.source].under_way;
    ++of_[flow.source].sent_ahead;
    const std::uint32_t packet =
        make_data(message.flow, sequence, message.target, payload, message_ends);
    if (scenario_.record.packets) {
        sent_at_[std::uint64_t{message.flow} << 32U | sequence] = events_.now();
    }
    return packet;
}

std::uint32_t Transport::make_data(std::uint32_t flow, std::uint32_t sequence, std::uint32_t target,
                                   std::int64_t payload_bytes, bool last) {
    const std::uint32_t index = packets_.take();
    Packet& packet = packets_[index];
    packet.flow = flow;
    packet.sequence = sequence;
    packet.target = target;
    packet.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    packet.bytes = static_cast<std::uint16_t>(payload_bytes + plan_.header_bytes);
    packet.last = last;
    return index;
}

void Transport::message_handed(std::uint32_t host_index, std::uint32_t message_index) {
    const std::int64_t tag = messages_[message_index].tag;
    messages_[message_index].next = free_message_;
    free_message_ = message_index;
    workload_->handed(host_index, tag);
    if (!scenario_.reliable() && is_settled(host_index)) {
        workload_->settled(host_index);
    }
}

// ---- arrivals

void Transport::receive(std::uint32_t host, std::uint32_t packet_index) {
    --of_[host].under_way; // what comes allows as much to go: of use with a global window only
    const Packet packet = packets_[packet_index];
    packets_.give(packet_index);
    deliver(packet.flow, host, packet);
    hosts_.poke(host);
}

void Transport::deliver(std::uint32_t flow_index, std::uint32_t host, const Packet& packet) {
    Flow& flow = flows_[flow_index];
    require(!scenario_.reliable() || packet.sequence == flow.delivered,
            "a reliable transport delivered a packet twice, or not in its turn");
    ++flow.delivered;
    futile_time_outs_ = 0;
    --of_[host].sent_ahead;
    HostCounts& counts = of_[host].counts;
    ++counts.packets_received;
    counts.bytes_received += packet.payload_bytes;
    // Of datagrams, a message is complete where nothing before its end was lost.
    const bool complete =
        packet.last && (flow.target == none || flow.delivered == packet.sequence + 1);
    counts.messages_received += complete ? 1 : 0;
    if (scenario_.record.packets) {
        const auto sent = sent_at_.find(std::uint64_t{flow_index} << 32U | packet.sequence);
        kept_[host].push_back({flow.source, packet.sequence, sent->second, events_.now()});
        sent_at_.erase(sent);
        samples_ += 4;
    }
    workload_->delivered(flow_index, host, complete);
}

void Transport::answer(std::uint32_t flow_index, PacketKind kind, std::uint32_t number) {
    Flow& flow = flows_[flow_index];
    const std::uint32_t index = packets_.take();
    Packet& packet = packets_[index];
    packet.flow = flow_index;
    packet.target = flow.source;
    packet.kind = kind;
    packet.answer = number;
    packet.bytes = static_cast<std::uint16_t>(plan_.control_bytes);
    PerHost& host = of_[flow.target];
    ++(kind == PacketKind::nack ? host.counts.nacks : host.counts.acknowledgements);
    host.control.push(packets_, index);
    hosts_.poke(flow.target);
}

void Transport::on_timer(std::uint32_t /*flow*/) {
    throw std::logic_error("a datagram has no timer");
}

void Transport::on_late_answer(std::uint32_t /*flow*/) {
    throw std::logic_error("a datagram has no answer");
}

// ---- what is kept

void Transport::count(std::uint32_t host, protocol::Event event, std::uint32_t packets) {
    HostCounts& counts = of_[host].counts;
    counts.fast_retransmits += event == protocol::Event::nack ? 1 : 0;
    counts.time_outs += event == protocol::Event::time_out ? packets : 0;
    futile_time_outs_ += event == protocol::Event::time_out ? 1 : 0;
}

const protocol::Log* Transport::events_of(std::uint32_t flow) const {
    const auto found = logs_.find(flow);
    return found == logs_.end() ? nullptr : &found->second;
}

std::uint64_t Transport::samples() const {
    std::uint64_t samples = samples_;
    for (const auto& [flow, log] : logs_) {
        samples += 4 * log.runs().size() + 4 * log.moves().size();
    }
    return samples;
}

std::unique_ptr<Transport> make_transport(const Scenario& scenario, EventQueue& events,
                                          PacketPool& packets, Hosts& hosts) {
    switch (scenario.transport.kind) {
    case TransportKind::go_back_n:
        return std::make_unique<GoBackN>(scenario, events, packets, hosts);
    case TransportKind::tcp:
        return std::make_unique<Tcp>(scenario, events, packets, hosts);
    case TransportKind::datagram:
        break;
    }
    return std::make_unique<Transport>(scenario, events, packets, hosts);
}

} // namespace sonde::simulator
