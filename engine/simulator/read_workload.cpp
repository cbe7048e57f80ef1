// Who sends what to whom.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/failure.hpp"
#include "schedule/read.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

using nlohmann::json;

namespace {

constexpr std::int64_t most_packets_sent = 1'000'000'000;
constexpr std::int64_t most_message_bytes = std::int64_t{1} << 40U;
constexpr std::size_t most_trace_messages = 1'000'000;
constexpr std::int64_t most_trace_ns = 1'000'000'000'000'000;

std::uint32_t rank_of(const json& value, const Scenario& scenario) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() >= scenario.hosts) {
        throw Failure("bad_request", "workload: a rank is an integer from 0 to " +
                                         std::to_string(scenario.hosts - 1));
    }
    return static_cast<std::uint32_t>(value.get<std::int64_t>());
}

std::uint32_t take_rank(Fields& fields, std::string_view name, const Scenario& scenario) {
    return static_cast<std::uint32_t>(fields.integer(name, 0, scenario.hosts - 1));
}

std::vector<std::uint32_t> take_ranks(Fields& fields, std::string_view name,
                                      const Scenario& scenario) {
    std::vector<std::uint32_t> ranks;
    for (const json& value : fields.list(name, scenario.hosts)) {
        ranks.push_back(rank_of(value, scenario));
    }
    if (std::set<std::uint32_t>(ranks.begin(), ranks.end()).size() != ranks.size()) {
        throw Failure("bad_request", "workload: a rank stands twice in " + std::string(name));
    }
    return ranks;
}

void add_pair(WorkloadPlan& plan, std::uint32_t source, std::uint32_t target) {
    if (source == target) {
        throw Failure("bad_request",
                      "workload: rank " + std::to_string(source) + " cannot send to itself");
    }
    plan.pairs.emplace_back(source, target);
}

void read_two_ends(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    const std::uint32_t source = take_rank(fields, "source", scenario);
    const std::uint32_t target = take_rank(fields, "target", scenario);
    add_pair(plan, source, target);
    if (plan.kind == WorkloadKind::two_way) {
        add_pair(plan, plan.pairs.front().second, plan.pairs.front().first);
    }
}

void read_many_to_one(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    const std::uint32_t target = take_rank(fields, "target", scenario);
    std::vector<std::uint32_t> senders = take_ranks(fields, "senders", scenario);
    if (senders.empty()) {
        senders.resize(scenario.hosts);
        std::iota(senders.begin(), senders.end(), 0U);
        senders.erase(senders.begin() + target);
    }
    for (const std::uint32_t sender : senders) {
        add_pair(plan, sender, target);
    }
}

void read_pairs(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    const bool both_ways = fields.flag("both_ways", false);
    for (const json& pair : fields.list("pairs", std::size_t{4} * scenario.hosts)) {
        if (!pair.is_array() || pair.size() != 2) {
            throw Failure("bad_request", "workload: a pair is [source, target]");
        }
        add_pair(plan, rank_of(pair[0], scenario), rank_of(pair[1], scenario));
        if (both_ways) {
            add_pair(plan, plan.pairs.back().second, plan.pairs.back().first);
        }
    }
    auto sorted = plan.pairs;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        throw Failure("bad_request", "workload: there are no pairs, or one stands twice");
    }
}

void read_burst(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    plan.sources = take_ranks(fields, "sources", scenario);
    plan.sinks = take_ranks(fields, "sinks", scenario);
    const std::set<std::uint32_t> sources(plan.sources.begin(), plan.sources.end());
    if (plan.sources.empty() || plan.sinks.empty() ||
        std::any_of(plan.sinks.begin(), plan.sinks.end(),
                    [&](std::uint32_t sink) { return sources.contains(sink); })) {
        throw Failure("bad_request",
                      "workload: a burst needs sources and sinks, and no rank is both");
    }
}

void read_schedule(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    schedule::Asked asked = schedule::read_asked(fields);
    asked.parameters.ranks = static_cast<schedule::Rank>(scenario.hosts);
    const schedule::Algorithm& algorithm = schedule::find_algorithm(asked);
    schedule::check(algorithm, asked.parameters);
    plan.algorithm = algorithm.name;
    plan.parameters = std::move(asked.parameters);
}

TraceMessage read_message(const json& entry, const Scenario& scenario) {
    const auto is_integer = [](const json& value) { return value.is_number_integer(); };
    if (!entry.is_array() || entry.size() != 4 ||
        !std::all_of(entry.begin(), entry.end(), is_integer)) {
        throw Failure("bad_request", "workload: a message is [at_ns, source, target, bytes]");
    }
    TraceMessage message;
    const auto at_ns = entry[0].get<std::int64_t>();
    message.source = rank_of(entry[1], scenario);
    message.target = rank_of(entry[2], scenario);
    message.bytes = entry[3].get<std::int64_t>();
    if (at_ns < 0 || at_ns > most_trace_ns || message.bytes < 1 ||
        message.bytes > most_message_bytes || message.source == message.target) {
        throw Failure("bad_request", "workload: the message " + entry.dump() +
                                         " is out of range, or from a rank to itself");
    }
    message.at = from_ns(at_ns);
    return message;
}

void read_trace(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    for (const json& entry : fields.list("messages", most_trace_messages)) {
        plan.messages.push_back(read_message(entry, scenario));
    }
    const auto earlier = [](const TraceMessage& a, const TraceMessage& b) { return a.at < b.at; };
    if (plan.messages.empty() ||
        !std::is_sorted(plan.messages.begin(), plan.messages.end(), earlier)) {
        throw Failure("bad_request", "workload: a trace has messages, in order of their time");
    }
}

void require_datagrams(const Scenario& scenario, const char* kind) {
    if (scenario.reliable()) {
        throw Failure("bad_request", std::string("workload: ") + kind +
                                         " is of datagrams only, whose losses are what it shows");
    }
}

using ReadKind = void (*)(Fields&, const Scenario&, WorkloadPlan&);

void read_uniform(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    require_datagrams(scenario, "uniform");
    plan.load = fields.number("load", 0.001, 1.0, 1.0);
}

void read_burst_of_datagrams(Fields& fields, const Scenario& scenario, WorkloadPlan& plan) {
    require_datagrams(scenario, "burst");
    read_burst(fields, scenario, plan);
}

struct KindEntry {
    WorkloadKind kind;
    bool counts_packets; // needs `packets`
    ReadKind read;
};

const std::map<std::string, KindEntry>& workload_kinds() {
    static const std::map<std::string, KindEntry> kinds{
        {"one_way", {WorkloadKind::one_way, true, read_two_ends}},
        {"two_way", {WorkloadKind::two_way, true, read_two_ends}},
        {"many_to_one", {WorkloadKind::many_to_one, true, read_many_to_one}},
        {"uniform", {WorkloadKind::uniform, true, read_uniform}},
        {"pairs", {WorkloadKind::pairs, true, read_pairs}},
        {"burst", {WorkloadKind::burst, true, read_burst_of_datagrams}},
        {"schedule", {WorkloadKind::schedule, false, read_schedule}},
        {"trace", {WorkloadKind::trace, false, read_trace}}};
    return kinds;
}

// Blocks in packets are of the workload's packets.
void give_segments(json& input) {
    if (input.is_object() && input.contains("block_packets") && !input.contains("segment_bytes") &&
        input.contains("payload_bytes")) {
        input["segment_bytes"] = input["payload_bytes"];
    }
}

} // namespace

WorkloadPlan read_workload(json input, const Scenario& scenario) {
    give_segments(input);
    Fields fields(std::move(input), "workload");
    const std::string name = fields.text("kind", 32);
    const auto known = workload_kinds().find(name);
    if (known == workload_kinds().end()) {
        throw Failure("bad_request",
                      "workload: no kind is called " + name +
                          "; there are one_way, two_way, many_to_one, uniform, pairs, burst, "
                          "schedule and trace");
    }
    WorkloadPlan plan;
    plan.kind = known->second.kind;
    plan.payload_bytes =
        fields.integer("payload_bytes", 1, most_packet_bytes - scenario.transport.header_bytes);
    if (known->second.counts_packets) {
        plan.packets = fields.integer("packets", 1, most_packets_sent);
    }
    known->second.read(fields, scenario, plan);
    plan.start_spread = take_time(fields, "start_spread_ns", 0);
    if (plan.kind == WorkloadKind::schedule) {
        plan.repetitions = fields.optional_integer("repetitions", 1, 100'000).value_or(1);
    }
    fields.finish();
    return plan;
}

} // namespace sonde::simulator
