#include "worker/simulation_records.hpp"

#include <string>
#include <vector>

#include "core/records.hpp"

namespace sonde {

namespace {

using nlohmann::json;
using namespace simulator;

constexpr std::int64_t request = 1;
constexpr std::uint32_t most_ranks_by_default = 4096;

std::int64_t as_ns(VirtualTime time) { return time < 0 ? -1 : to_ns(time); }

std::string transport_name(const TransportPlan& plan) {
    switch (plan.kind) {
    case TransportKind::go_back_n:
        return plan.fast_retransmit ? "go_back_n" : "simple_go_back_n";
    case TransportKind::tcp:
        return "tcp";
    case TransportKind::datagram:
        break;
    }
    return "datagram";
}

std::string workload_name(const WorkloadPlan& plan) {
    switch (plan.kind) {
    case WorkloadKind::one_way:
        return "one_way";
    case WorkloadKind::two_way:
        return "two_way";
    case WorkloadKind::many_to_one:
        return "many_to_one";
    case WorkloadKind::uniform:
        return "uniform";
    case WorkloadKind::pairs:
        return "pairs";
    case WorkloadKind::burst:
        return "burst";
    case WorkloadKind::schedule:
        return plan.algorithm;
    case WorkloadKind::trace:
        break;
    }
    return "trace";
}

void write_facts(RecordWriter& writer, const Scenario& scenario) {
    writer.facts(request, {{"simulator.version", NETSONDE_VERSION},
                           {"simulator.seed", scenario.seed},
                           {"simulator.hosts", scenario.hosts},
                           {"simulator.switches", scenario.switches.size()},
                           {"simulator.transport", transport_name(scenario.transport)},
                           {"simulator.workload", workload_name(scenario.workload)}});
}

void write_queues(RecordWriter& writer, const std::vector<QueueSeries>& queues) {
    for (std::size_t n = 0; n < queues.size(); ++n) {
        const std::string name = "queue_" + std::to_string(n);
        writer.series(request, name + "_ns", "ns", queues[n].at_ns);
        writer.series(request, name + "_packets", "count", queues[n].packets);
    }
}

void write_events(RecordWriter& writer, const std::vector<RankEvents>& events) {
    std::vector<std::int64_t> targets, kinds, counts, at_ns;
    for (const RankEvents& of : events) {
        for (const protocol::EventRun& run : of.log.runs()) {
            targets.push_back(of.target);
            kinds.push_back(static_cast<std::int64_t>(run.event));
            counts.push_back(run.count);
            at_ns.push_back(to_ns(run.at));
        }
    }
    writer.series(request, "event_target", "count", targets);
    writer.series(request, "event_kind", "count", kinds);
    writer.series(request, "event_count", "count", counts);
    writer.series(request, "event_ns", "ns", at_ns);
}

// A sender's changes of state, which only Go-Back-N has.
void write_moves(RecordWriter& writer, const std::vector<RankEvents>& events) {
    std::vector<std::int64_t> targets, states, at_ns;
    for (const RankEvents& of : events) {
        for (const protocol::Move& move : of.log.moves()) {
            targets.push_back(of.target);
            states.push_back(static_cast<std::int64_t>(move.to));
            at_ns.push_back(to_ns(move.at));
        }
    }
    if (!targets.empty()) {
        writer.series(request, "state_target", "count", targets);
        writer.series(request, "state_entered", "count", states);
        writer.series(request, "state_ns", "ns", at_ns);
    }
}

void write_packets(RecordWriter& writer, const std::vector<SentPacket>& packets) {
    std::vector<std::int64_t> sources, numbers, sent_ns, received_ns;
    for (const SentPacket& packet : packets) {
        sources.push_back(packet.source);
        numbers.push_back(packet.sequence);
        sent_ns.push_back(to_ns(packet.sent));
        received_ns.push_back(to_ns(packet.received));
    }
    writer.series(request, "packet_source", "count", sources);
    writer.series(request, "packet_sequence", "count", numbers);
    writer.series(request, "packet_sent_ns", "ns", sent_ns);
    writer.series(request, "packet_received_ns", "ns", received_ns);
}

void write_counters(RecordWriter& writer, const Scenario& scenario, const Outcome& outcome,
                    std::uint32_t rank) {
    const HostCounts& counts = outcome.counts[rank];
    const std::size_t last_row = outcome.completions.size() - scenario.hosts;
    writer.counters(request, {{"start_ns", as_ns(outcome.begins[rank])},
                              {"end_ns", as_ns(outcome.completions[last_row + rank])},
                              {"messages_sent", counts.messages_sent},
                              {"bytes_sent", counts.bytes_sent},
                              {"packets_sent", counts.packets_sent},
                              {"messages_received", counts.messages_received},
                              {"bytes_received", counts.bytes_received},
                              {"packets_received", counts.packets_received},
                              {"packets_retransmitted", counts.retransmitted},
                              {"packets_duplicate", counts.duplicate},
                              {"packets_out_of_order", counts.out_of_order},
                              {"acknowledgements_sent", counts.acknowledgements},
                              {"nacks_sent", counts.nacks},
                              {"time_outs", counts.time_outs},
                              {"fast_retransmits", counts.fast_retransmits},
                              {"full_packet_ns", to_ns(outcome.full_packets[rank])},
                              {"lost_receive_pool", outcome.lost_at[rank]}});
}

void write_done(RecordWriter& writer, const Outcome& outcome) {
    json values{{"ended_by", outcome.finished ? "finished" : "idle"},
                {"elapsed_ns", to_ns(outcome.elapsed)},
                {"events", outcome.events},
                {"packet_hops", outcome.packet_hops},
                {"packets_created", outcome.packets_created},
                {"packets_delivered", outcome.packets_delivered},
                {"lost_overflow", outcome.lost_overflow},
                {"lost_random", outcome.lost_random},
                {"lost_receive_pool", outcome.lost_receive_pool}};
    if (outcome.steps_done >= 0) {
        values["steps_done_ns"] = to_ns(outcome.steps_done);
    }
    for (const NamedCount& count : outcome.places) {
        values[count.name] = count.value;
    }
    writer.done(request, "run", values);
}

} // namespace

void write_simulation(int fd, const Scenario& scenario, const Outcome& outcome) {
    RecordWriter writer(fd, "h0", 0);
    write_facts(writer, scenario);
    std::vector<std::int64_t> completions;
    completions.reserve(outcome.completions.size());
    for (const VirtualTime time : outcome.completions) {
        completions.push_back(as_ns(time));
    }
    writer.series(request, "completion_ns", "ns", completions);
    write_queues(writer, outcome.queues);
    const bool ranks = scenario.record.ranks.value_or(scenario.hosts <= most_ranks_by_default);
    for (std::uint32_t rank = 0; rank < scenario.hosts; ++rank) {
        RecordWriter own =
            writer.as(std::string("h").append(std::to_string(rank)), static_cast<int>(rank));
        if (scenario.record.events && !outcome.events_of[rank].empty()) {
            write_events(own, outcome.events_of[rank]);
            write_moves(own, outcome.events_of[rank]);
        }
        if (scenario.record.packets) {
            write_packets(own, outcome.packets_of[rank]);
        }
        if (ranks) {
            write_counters(own, scenario, outcome, rank);
        }
    }
    write_done(writer, outcome);
}

} // namespace sonde
