// The parts of a scenario that stand for themselves: transport, records, limits, and the whole.
#include <algorithm>
#include <map>
#include <utility>

#include "core/failure.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

using nlohmann::json;

namespace {

constexpr std::int64_t most_time_ns = 9'000'000'000'000'000; // in ps it just fits 64 bits
constexpr std::int64_t most_timer_ns = 3'600'000'000'000;
constexpr std::int64_t most_window = 65'536;
constexpr std::size_t most_queues = 256;
constexpr std::int64_t largest_exact_integer = 9'007'199'254'740'991;

// A port is named by its neighbour: "up", {"host": RANK} or {"switch": NAME}.
QueueAsked read_queue(json entry, const Scenario& scenario) {
    QueueAsked asked;
    const json port = entry.is_object() && entry.contains("port") ? entry["port"] : json();
    if (port.is_string() && port.get<std::string>() == "up") {
        asked.up = true;
    } else {
        Fields neighbour(port, "record.queues.port");
        if (const auto host = neighbour.optional_integer("host", 0, scenario.hosts - 1)) {
            asked.host = static_cast<std::uint32_t>(*host);
        } else {
            asked.neighbour = neighbour.text("switch", 32);
        }
        neighbour.finish();
    }
    entry.erase("port");
    Fields fields(std::move(entry), "record.queues");
    asked.at_switch = fields.text("switch", 32);
    fields.finish();
    return asked;
}

RecordPlan read_record(Fields fields, const Scenario& scenario) {
    RecordPlan plan;
    plan.packets = fields.flag("packets", false);
    plan.events = fields.flag("events", false);
    plan.ranks = fields.optional_flag("ranks");
    for (const json& queue : fields.list("queues", most_queues)) {
        plan.queues.push_back(read_queue(queue, scenario));
    }
    plan.queue_every = take_time(fields, "queue_every_ns", 0);
    fields.finish();
    return plan;
}

Limits read_limits(Fields fields) {
    Limits limits;
    limits.events =
        fields.optional_integer("events", 1, largest_exact_integer).value_or(limits.events);
    if (const auto time = fields.optional_integer("time_ns", 1, most_time_ns)) {
        limits.time = from_ns(*time);
    }
    limits.samples =
        fields.optional_integer("samples", 0, std::int64_t{1} << 32U).value_or(limits.samples);
    limits.memory_bytes = fields.optional_integer("memory_bytes", 1 << 20, std::int64_t{1} << 42U)
                              .value_or(limits.memory_bytes);
    fields.finish();
    return limits;
}

bool read_window_counts(Fields& fields) {
    const std::string counts =
        fields.optional_text("global_window_counts", 32).value_or("acknowledged");
    if (counts != "acknowledged" && counts != "received") {
        throw Failure("bad_request", "transport: global_window_counts is " + counts +
                                         "; expected acknowledged or received");
    }
    return counts == "received";
}

void read_go_back_n(Fields& fields, TransportPlan& plan) {
    static const std::map<std::string, Acknowledge> ways{{"immediate", Acknowledge::immediate},
                                                         {"delayed", Acknowledge::delayed},
                                                         {"piggyback", Acknowledge::piggyback}};
    plan.window_packets = fields.integer("window_packets", 1, most_window);
    plan.timeout = from_ns(fields.integer("timeout_ns", 1, most_timer_ns));
    const std::string way = fields.optional_text("acknowledge", 32).value_or("immediate");
    const auto known = ways.find(way);
    if (known == ways.end()) {
        throw Failure("bad_request", "transport: no way to acknowledge is called " + way +
                                         "; there are immediate, delayed and piggyback");
    }
    plan.acknowledge = known->second;
    plan.window_counts_received = read_window_counts(fields);
    plan.fast_retransmit = fields.flag("fast_retransmit", true);
    if (plan.acknowledge != Acknowledge::immediate) {
        plan.delay_packets = fields.integer("delay_packets", 1, plan.window_packets);
        plan.delay = from_ns(fields.integer("delay_ns", 1, most_timer_ns));
    }
}

void read_tcp(Fields& fields, TransportPlan& plan) {
    plan.initial_window_packets =
        fields.optional_integer("initial_window_packets", 1, most_window).value_or(10);
    plan.window_packets =
        fields.optional_integer("receive_window_packets", 1, most_window).value_or(1024);
    plan.timeout = from_ns(
        fields.optional_integer("minimum_timeout_ns", 1, most_timer_ns).value_or(200'000'000));
    plan.delay = from_ns(fields.optional_integer("delayed_acknowledgement_ns", 0, most_timer_ns)
                             .value_or(40'000'000));
    plan.selective = fields.flag("selective", true);
}

// A host that receives less than it sends would wait for ever.
void check_window_counts(const Scenario& scenario) {
    const WorkloadPlan& workload = scenario.workload;
    const bool exchange = workload.kind == WorkloadKind::schedule &&
                          workload.algorithm.starts_with("alltoall/") &&
                          workload.parameters.sizes.empty();
    if (scenario.transport.window_counts_received && !exchange) {
        throw Failure("bad_request",
                      "transport: global_window_counts = received is for a schedule in which each "
                      "host receives as many packets as it sends: alltoall with equal blocks");
    }
}

} // namespace

VirtualTime take_time(Fields& fields, std::string_view name, std::int64_t otherwise_ns) {
    return from_ns(fields.optional_integer(name, 0, most_timer_ns).value_or(otherwise_ns));
}

TransportPlan read_transport(Fields fields) {
    TransportPlan plan;
    const std::string kind = fields.optional_text("kind", 32).value_or("datagram");
    if (kind == "go_back_n") {
        plan.kind = TransportKind::go_back_n;
        read_go_back_n(fields, plan);
    } else if (kind == "tcp") {
        plan.kind = TransportKind::tcp;
        read_tcp(fields, plan);
    } else if (kind != "datagram") {
        throw Failure("bad_request", "transport: no kind is called " + kind +
                                         "; there are datagram, go_back_n and tcp");
    }
    const std::int64_t header = plan.kind == TransportKind::tcp ? 40 : 8;
    plan.header_bytes = fields.optional_integer("header_bytes", 0, 500).value_or(header);
    plan.control_bytes = fields.optional_integer("control_bytes", 0, 1500).value_or(header);
    plan.global_window_packets =
        fields.optional_integer("global_window_packets", 1, most_window).value_or(0);
    fields.finish();
    return plan;
}

Scenario read_scenario(const json& input) {
    if (!input.is_object()) {
        throw Failure("bad_request", "scenario: expected a JSON object");
    }
    Fields fields(input, "scenario");
    Scenario scenario;
    (void)fields.integer("simulation", 1, 1);
    scenario.seed = static_cast<std::uint64_t>(
        fields.optional_integer("seed", 0, largest_exact_integer).value_or(1));
    read_places(fields, input, scenario);
    scenario.transport = read_transport(fields.object("transport"));
    (void)fields.object("workload"); // it is taken, and it is an object
    scenario.workload = read_workload(input.value("workload", json::object()), scenario);
    check_window_counts(scenario);
    scenario.record = read_record(fields.object("record"), scenario);
    scenario.limits = read_limits(fields.object("limits"));
    fields.finish();
    return scenario;
}

} // namespace sonde::simulator
