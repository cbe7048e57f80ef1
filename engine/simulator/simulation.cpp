#include "simulator/simulation.hpp"

#include <algorithm>

#include "core/failure.hpp"
#include "simulator/event_queue.hpp"
#include "simulator/hosts.hpp"
#include "simulator/play.hpp"

namespace sonde::simulator {

namespace {

constexpr std::uint64_t look_every = 65'536; // events, at the limits that are seldom reached
constexpr std::uint64_t most_futile_time_outs = 1000; // for each host

class Simulation {
public:
    explicit Simulation(const Scenario& scenario)
        : scenario_(scenario), packets_(static_cast<std::uint64_t>(scenario.limits.memory_bytes)),
          hosts_(scenario, events_, packets_), network_(scenario, events_, packets_, hosts_),
          transport_(make_transport(scenario, events_, packets_, hosts_)) {
        hosts_.connect(network_, *transport_);
        play_ = make_play(scenario, events_, network_, hosts_, *transport_);
        transport_->connect(*play_);
    }

    Outcome run() {
        play_->start();
        Event event;
        std::uint64_t until_look = look_every;
        while (events_.pop(event)) {
            happen(event);
            if (--until_look == 0) {
                until_look = look_every;
                look_at_limits();
            }
        }
        look_at_limits();
        check();
        return outcome();
    }

private:
    void happen(const Event& event) {
        switch (event.kind()) {
        case EventKind::reach_switch:
            return network_.on_reach_switch(event.place(), event.item());
        case EventKind::reach_host:
            return network_.on_reach_host(event.place(), event.item());
        case EventKind::ready:
            return network_.on_ready(event.place(), event.item());
        case EventKind::line_free:
            return network_.on_line_free(event.place());
        case EventKind::input_free:
            return network_.on_input_free(event.place());
        case EventKind::pause:
            return network_.on_pause(event.place(), event.item() != 0);
        case EventKind::card:
            return hosts_.on_card(event.place(), event.item());
        case EventKind::interrupt:
            return hosts_.on_interrupt(event.place(), event.item());
        case EventKind::process:
            return hosts_.on_process(event.place());
        case EventKind::kernel:
            return hosts_.on_kernel(event.place());
        case EventKind::timer:
            return transport_->on_timer(event.item());
        case EventKind::late_answer:
            return transport_->on_late_answer(event.item());
        case EventKind::begin:
            return play_->begin(event.place());
        }
    }

    void look_at_limits() const {
        const Limits& limits = scenario_.limits;
        if (transport_->futile_time_outs() > most_futile_time_outs * scenario_.hosts) {
            throw Failure("limit",
                          "nothing new arrived in the last " +
                              std::to_string(transport_->futile_time_outs()) +
                              " time-outs: senders with equal timers meet in the same full buffer "
                              "for ever, or the way lets nothing pass; give hosts a jitter, the "
                              "switch a larger buffer, or the transport a smaller window");
        }
        if (events_.happened() > static_cast<std::uint64_t>(limits.events)) {
            throw Failure("limit", "the simulation has more than limits.events = " +
                                       std::to_string(limits.events) + " events");
        }
        if (events_.now() > limits.time) {
            throw Failure("limit", "the simulated time is beyond limits.time_ns = " +
                                       std::to_string(to_ns(limits.time)));
        }
        if (network_.samples() + transport_->samples() >
            static_cast<std::uint64_t>(limits.samples)) {
            throw Failure("limit", "the series hold more than limits.samples = " +
                                       std::to_string(limits.samples) + " values");
        }
        if (packets_.memory_bytes() + events_.memory_bytes() >
            static_cast<std::uint64_t>(limits.memory_bytes)) {
            throw Failure("limit", "the simulation needs more than limits.memory_bytes = " +
                                       std::to_string(limits.memory_bytes) +
                                       " for its packets and events");
        }
    }

    // Whatever was sent has arrived or is counted as lost, and nothing waits anywhere.
    void check() const {
        require(packets_.living() == 0, "the simulator forgot packets");
        network_.check_empty();
        hosts_.check_empty();
    }

    Outcome outcome();
    void count_lines(Outcome& out) const;
    void count_line(Outcome& out, const Line& line, std::vector<NamedCount>& ports) const;
    void count_ranks(Outcome& out);
    [[nodiscard]] std::string port_name(std::uint32_t at_switch, std::size_t line) const;

    const Scenario& scenario_;
    EventQueue events_;
    PacketPool packets_;
    Hosts hosts_;
    Network network_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Play> play_;
};

// Ports are numbered as switches see their neighbours: hosts and switches below in their order, and
// the uplink last.
std::string Simulation::port_name(std::uint32_t at_switch, std::size_t line) const {
    const SwitchState& at = network_.switches()[at_switch];
    const std::size_t link = line / 2;
    std::size_t port = 0;
    if (link < scenario_.hosts) {
        port = link - at.low;
    } else if (link - scenario_.hosts == at_switch) {
        port = at.own_hosts + at.down.size();
    } else {
        const auto down = static_cast<std::uint32_t>(2 * link + 1);
        port =
            at.own_hosts + static_cast<std::size_t>(
                               std::find(at.down.begin(), at.down.end(), down) - at.down.begin());
    }
    return "switch." + scenario_.switches[at_switch].name + ".port." + std::to_string(port);
}

void Simulation::count_lines(Outcome& out) const {
    const std::size_t count = network_.switches().size();
    std::vector<std::uint64_t> overflow(count), random(count);
    std::vector<std::int64_t> most(count);
    std::uint64_t hosts_random = 0;
    std::vector<NamedCount> ports;
    for (std::size_t i = 0; i < network_.lines().size(); ++i) {
        const Line& line = network_.lines()[i];
        out.packet_hops += line.sent;
        out.lost_random += line.lost_random;
        if (line.tail_switch == none) {
            hosts_random += line.lost_random;
        } else {
            random[line.tail_switch] += line.lost_random;
            overflow[line.tail_switch] += line.lost_at_output;
            most[line.tail_switch] = std::max(most[line.tail_switch], line.most_at_output);
        }
        if (line.head_switch != none) {
            overflow[line.head_switch] += line.lost_at_input;
            most[line.head_switch] = std::max(most[line.head_switch], line.most_at_input);
        }
        if (line.lost_at_output > 0) {
            ports.push_back({port_name(line.tail_switch, i) + ".lost_overflow",
                             static_cast<std::int64_t>(line.lost_at_output)});
        }
        if (line.lost_at_input > 0) {
            ports.push_back({port_name(line.head_switch, i) + ".lost_overflow",
                             static_cast<std::int64_t>(line.lost_at_input)});
        }
    }
    const auto add = [&](const std::string& name, std::uint64_t value) {
        if (value > 0) {
            out.places.push_back({name, static_cast<std::int64_t>(value)});
        }
    };
    for (std::size_t s = 0; s < count; ++s) {
        const SwitchState& at = network_.switches()[s];
        const std::string name = "switch." + scenario_.switches[s].name;
        const bool shared = scenario_.switch_kinds[at.kind].architecture == Buffering::shared;
        out.lost_overflow += overflow[s];
        add(name + ".lost_overflow", overflow[s]);
        add(name + ".lost_random", random[s]);
        add(name + ".pauses", at.pauses);
        add(name + ".most_packets",
            static_cast<std::uint64_t>(shared ? at.most_pool_packets : most[s]));
    }
    add("hosts.lost_random", hosts_random);
    out.places.insert(out.places.end(), ports.begin(), ports.end());
}

void Simulation::count_ranks(Outcome& out) {
    out.counts.resize(scenario_.hosts);
    out.lost_at.resize(scenario_.hosts);
    out.begins.resize(scenario_.hosts);
    out.full_packets.resize(scenario_.hosts);
    const auto full_bytes = static_cast<std::uint32_t>(scenario_.workload.payload_bytes +
                                                       scenario_.transport.header_bytes);
    for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
        const std::uint32_t host = network_.place_of(rank);
        out.counts[rank] = transport_->counts(host);
        out.lost_at[rank] = hosts_.lost(host);
        out.begins[rank] = play_->begins()[host];
        out.lost_receive_pool += out.lost_at[rank];
        out.full_packets[rank] = network_.line_time_to(host, full_bytes);
    }
    if (scenario_.record.packets) {
        out.packets_of.resize(scenario_.hosts);
        for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
            out.packets_of[rank] = transport_->packets_of(network_.place_of(rank));
            for (SentPacket& packet : out.packets_of[rank]) {
                packet.source = network_.rank_of(packet.source);
            }
        }
    }
    if (scenario_.record.events) {
        out.events_of.resize(scenario_.hosts);
        for (std::uint32_t flow = 0; flow < transport_->flows(); ++flow) {
            const protocol::Log* log = transport_->events_of(flow);
            if (log != nullptr && !log->runs().empty()) {
                const Flow& of = transport_->flow_at(flow);
                out.events_of[network_.rank_of(of.source)].push_back(
                    {network_.rank_of(of.target), *log});
            }
        }
    }
}

Outcome Simulation::outcome() {
    Outcome out;
    out.finished = play_->finished();
    out.completions = play_->completions();
    out.steps_done = out.finished ? play_->steps_done() : -1;
    out.elapsed = out.finished ? *std::max_element(out.completions.begin(), out.completions.end())
                               : events_.now();
    out.events = events_.happened();
    out.packets_created = packets_.created();
    out.packets_delivered = hosts_.delivered();
    out.memory_bytes = packets_.memory_bytes() + events_.memory_bytes();
    count_lines(out);
    count_ranks(out);
    require(out.packets_created ==
                out.packets_delivered + out.lost_overflow + out.lost_random + out.lost_receive_pool,
            "packets were created that neither arrived nor were lost");
    out.queues = network_.queue_series();
    return out;
}

} // namespace

Outcome simulate(const Scenario& scenario) {
    Simulation simulation(scenario);
    return simulation.run();
}

} // namespace sonde::simulator
