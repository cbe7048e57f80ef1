// The tree as it is built from a scenario.
#include <algorithm>

#include "core/failure.hpp"
#include "simulator/network.hpp"

namespace sonde::simulator {

namespace {

// When a cut-through switch has read where a packet goes: preamble and header.
constexpr std::int64_t header_bits = std::int64_t{8 + 14} * 8;
constexpr std::uint64_t link_stream = 1; // of random numbers

} // namespace

Network::Network(const Scenario& scenario, EventQueue& events, PacketPool& packets,
                 NetworkExit& exit)
    : scenario_(scenario), events_(events), packets_(packets), exit_(exit),
      random_(scenario.seed, link_stream) {
    number_hosts();
    add_lines();
    watch_queues();
}

// Depth first, a switch's own hosts before those of the switches below it.
void Network::number_hosts() {
    const std::size_t count = scenario_.switches.size();
    std::vector<std::vector<std::uint32_t>> below(count);
    std::vector<std::vector<std::uint32_t>> groups(count); // by their first rank
    std::vector<std::uint32_t> first_rank;
    for (std::uint32_t s = 1; s < count; ++s) {
        below[scenario_.switches[s].parent].push_back(s);
    }
    std::uint32_t rank = 0;
    for (std::uint32_t g = 0; g < scenario_.groups.size(); ++g) {
        groups[scenario_.groups[g].at_switch].push_back(g);
        first_rank.push_back(rank);
        rank += scenario_.groups[g].count;
    }
    switches_.resize(count);
    places_.resize(rank);
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{0, 0}}; // a deep tree is no deep stack
    const auto enter = [&](std::uint32_t s) {
        switches_[s].kind = scenario_.switches[s].kind;
        switches_[s].low = static_cast<std::uint32_t>(ranks_.size());
        for (const std::uint32_t g : groups[s]) {
            const HostGroup& group = scenario_.groups[g];
            for (std::uint32_t i = 0; i < group.count; ++i) {
                places_[first_rank[g] + i] = static_cast<std::uint32_t>(ranks_.size());
                ranks_.push_back(first_rank[g] + i);
                host_kinds_.push_back(group.kind);
                host_links_.push_back(group.link);
                host_switches_.push_back(s);
            }
        }
        switches_[s].own_hosts = static_cast<std::uint32_t>(ranks_.size()) - switches_[s].low;
    };
    enter(0);
    while (!path.empty()) {
        const std::uint32_t s = path.back().first;
        if (path.back().second < below[s].size()) {
            const std::uint32_t child = below[s][path.back().second++];
            enter(child);
            path.emplace_back(child, 0);
        } else {
            switches_[s].high = static_cast<std::uint32_t>(ranks_.size());
            path.pop_back();
        }
    }
}

void Network::add_lines() {
    const auto hosts = scenario_.hosts;
    lines_.resize(2 * (std::size_t{hosts} + switches_.size()));
    for (std::uint32_t host = 0; host < hosts; ++host) {
        add_link(host, scenario_.link_kinds[host_links_[host]], none, host, host_switches_[host]);
    }
    for (std::uint32_t s = 1; s < switches_.size(); ++s) {
        const SwitchEntry& entry = scenario_.switches[s];
        add_link(hosts + s, scenario_.link_kinds[entry.link], s, none, entry.parent);
        switches_[s].up = 2 * (hosts + s);
        if (switches_[s].low < switches_[s].high) {
            SwitchState& parent = switches_[entry.parent];
            parent.below.push_back(switches_[s].low); // in the walk's order, so rising
            parent.down.push_back(2 * (hosts + s) + 1);
        }
    }
}

// From a host or a switch up to a switch.
void Network::add_link(std::uint32_t number, const LinkKind& kind, std::uint32_t low_switch,
                       std::uint32_t host, std::uint32_t high_switch) {
    Line& up = lines_[2 * std::size_t{number}];
    Line& down = lines_[2 * std::size_t{number} + 1];
    up.tail_switch = down.head_switch = low_switch;
    up.head_switch = down.tail_switch = high_switch;
    down.head_host = host;
    up.rate_bit_per_s = kind.up_rate_bit_per_s;
    down.rate_bit_per_s = kind.down_rate_bit_per_s;
    for (Line* line : {&up, &down}) {
        line->propagation = kind.propagation;
        line->header_time = bits_time(header_bits, line->rate_bit_per_s);
        line->loss_ratio = kind.loss_ratio;
        line->burst = kind.burst ? &*kind.burst : nullptr;
        if (kind.both_ways_bit_per_s > 0) {
            line->sharing = static_cast<std::uint32_t>(shared_free_at_.size());
        }
    }
    if (kind.both_ways_bit_per_s > 0) {
        shared_free_at_.push_back(0);
        shared_rates_.push_back(kind.both_ways_bit_per_s);
    }
    if (low_switch == none) {
        up.owner = &scenario_.host_kinds[host_kinds_[host]];
        up.room.packets = up.owner->transmit_ring_packets;
    } else {
        give_rooms(down, up, low_switch, true);
    }
    give_rooms(up, down, high_switch, false);
}

// The port of a switch has a line that comes in and one that goes out.
void Network::give_rooms(Line& in, Line& out, std::uint32_t of_switch, bool uplink) {
    const SwitchKind& kind = scenario_.switch_kinds[switches_[of_switch].kind];
    out.exact = kind.architecture == Buffering::shared || kind.pause.has_value();
    if (kind.architecture == Buffering::shared) {
        out.room = kind.port_cap;
        if (uplink && kind.uplink_buffer) {
            out.reserve_packets = kind.uplink_buffer->packets;
            out.reserve_bytes = kind.uplink_buffer->bytes;
        }
        return;
    }
    out.stage_packets = kind.output_stage_packets;
    Room& room = kind.architecture == Buffering::input ? in.input_room : out.room;
    room = uplink ? kind.uplink_buffer.value_or(kind.buffer) : kind.buffer;
}

void Network::watch_queues() {
    for (const QueueAsked& asked : scenario_.record.queues) {
        const std::uint32_t at = find_switch(asked.at_switch);
        Line& line = lines_[find_port(asked, at)];
        const bool output = line.tail_switch == at;
        std::uint32_t& watched = output ? line.watched : line.watched_input;
        if (watched != none) {
            throw Failure("bad_request",
                          "record.queues: a port of " + asked.at_switch + " stands twice");
        }
        watched = static_cast<std::uint32_t>(series_.size());
        line.exact = line.exact || output;
        series_.emplace_back();
        sample(watched, 0);
    }
}

std::uint32_t Network::find_switch(const std::string& name) const {
    for (std::uint32_t s = 0; s < switches_.size(); ++s) {
        if (scenario_.switches[s].name == name) {
            return s;
        }
    }
    throw Failure("bad_request", "record.queues: no switch is called " + name);
}

// The line whose buffer it is.
std::uint32_t Network::find_port(const QueueAsked& asked, std::uint32_t at) const {
    const bool input = scenario_.switch_kinds[switches_[at].kind].architecture == Buffering::input;
    if (asked.up) {
        if (at == 0) {
            throw Failure("bad_request", "record.queues: " + asked.at_switch + " has no uplink");
        }
        return switches_[at].up + (input ? 1 : 0);
    }
    std::uint32_t number = 0;
    if (asked.host) {
        number = places_[*asked.host];
        if (host_switches_[number] != at) {
            throw Failure("bad_request", "record.queues: host " + std::to_string(*asked.host) +
                                             " is not at " + asked.at_switch);
        }
    } else {
        const std::uint32_t child = find_switch(asked.neighbour);
        if (child == 0 || scenario_.switches[child].parent != at) {
            throw Failure("bad_request", "record.queues: " + asked.neighbour +
                                             " is not a switch below " + asked.at_switch);
        }
        number = scenario_.hosts + child;
    }
    return 2 * number + (input ? 0 : 1);
}

void Network::check_empty() const {
    for (const Line& line : lines_) {
        require(line.queue.empty() && line.urgent.empty() && line.arrived.empty() &&
                    line.asking_first == none,
                "the simulator forgot a packet in a queue");
        const bool may_hold = line.sending && !line.exact; // nobody looked since it left
        require(line.held_packets <= (may_hold ? 1 : 0) && line.inside_packets == 0,
                "a queue of the simulator is empty and says that it is not");
    }
    for (const SwitchState& at : switches_) {
        require(at.pool_packets == 0 && at.pool_bytes == 0,
                "a shared buffer of the simulator is empty and says that it is not");
    }
}

} // namespace sonde::simulator
