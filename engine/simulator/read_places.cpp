// Kinds of hosts, links and switches, and which of them there are where.
#include <map>
#include <unordered_map>
#include <utility>

#include "core/failure.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

using nlohmann::json;

namespace {

constexpr std::size_t most_kinds = 1024;
constexpr std::int64_t most_packets_held = 100'000'000;
constexpr std::int64_t most_bytes_held = std::int64_t{1} << 50U;
constexpr double most_cost_ns = 1e9;

using Names = std::unordered_map<std::string, std::uint32_t>;

std::uint32_t find_name(const Names& names, const std::string& what, const std::string& name) {
    const auto found = names.find(name);
    if (found == names.end()) {
        throw Failure("bad_request", what + " " + name + " is not among those that are given");
    }
    return found->second;
}

template <class Value>
Value choose(const std::map<std::string, Value>& table, const std::string& what,
             const std::string& given) {
    const auto found = table.find(given);
    if (found != table.end()) {
        return found->second;
    }
    std::string known;
    for (const auto& [name, value] : table) {
        known += (known.empty() ? "" : ", ") + name;
    }
    throw Failure("bad_request", what + " is " + given + ", expected one of " + known);
}

Cost read_cost(Fields fields) {
    Cost cost;
    cost.base_ps = 1000.0 * fields.number("base_ns", 0.0, most_cost_ns, 0.0);
    cost.per_byte_ps = 1000.0 * fields.number("per_byte_ns", 0.0, most_cost_ns, 0.0);
    fields.finish();
    return cost;
}

ProcessJitter read_jitter(Fields fields) {
    ProcessJitter jitter;
    jitter.shape =
        choose<ProcessJitterShape>({{"none", ProcessJitterShape::off},
                                    {"uniform", ProcessJitterShape::uniform},
                                    {"exponential", ProcessJitterShape::exponential}},
                                   "jitter.distribution", fields.text("distribution", 32));
    jitter.mean_ps = 1000.0 * fields.number("mean_ns", 0.0, most_cost_ns, 0.0);
    jitter.ratio = 1.0 / fields.number("every", 1.0, 1e9, 1.0);
    fields.finish();
    return jitter;
}

CoalescingPlan read_coalescing(Fields fields) {
    CoalescingPlan plan;
    plan.policy = choose<Coalescing>({{"packet", Coalescing::packet},
                                      {"count", Coalescing::count},
                                      {"time", Coalescing::time},
                                      {"adaptive", Coalescing::adaptive}},
                                     "coalescing.policy",
                                     fields.optional_text("policy", 32).value_or("packet"));
    if (plan.policy == Coalescing::count || plan.policy == Coalescing::adaptive) {
        plan.packets = fields.integer("packets", 1, 1'000'000);
    }
    if (plan.policy != Coalescing::packet) {
        plan.time = from_ns(fields.integer("time_ns", 1, 1'000'000'000));
    }
    plan.interrupt = take_time(fields, "interrupt_ns", 0);
    fields.finish();
    return plan;
}

HostKind read_host_kind(Fields fields) {
    HostKind kind;
    kind.send_overhead = read_cost(fields.object("send_overhead"));
    kind.receive_overhead = read_cost(fields.object("receive_overhead"));
    kind.user_receive_overhead = read_cost(fields.object("user_receive_overhead"));
    kind.send_gap = read_cost(fields.object("send_gap"));
    kind.receive_gap = read_cost(fields.object("receive_gap"));
    kind.copy = read_cost(fields.object("copy"));
    kind.control_overhead = fields.flag("control_overhead", true);
    kind.transmit_ring_packets =
        fields.optional_integer("transmit_ring_packets", 1, 1'000'000).value_or(64);
    kind.receive_pool_packets =
        fields.optional_integer("receive_pool_packets", 1, 100'000'000).value_or(1024);
    kind.other_processor =
        choose<bool>({{"same", false}, {"other", true}}, "receive_processor",
                     fields.optional_text("receive_processor", 32).value_or("same"));
    kind.timer_late = take_time(fields, "timer_late_ns", 0);
    if (fields.has("jitter")) {
        kind.jitter = read_jitter(fields.object("jitter"));
    }
    kind.coalescing = read_coalescing(fields.object("coalescing"));
    fields.finish();
    return kind;
}

BurstLoss read_burst(Fields fields) {
    BurstLoss burst;
    burst.enter_ratio = fields.number("enter_ratio", 0.0, 1.0, burst.enter_ratio);
    burst.leave_ratio = fields.number("leave_ratio", 0.0, 1.0, burst.leave_ratio);
    burst.good_loss_ratio = fields.number("good_loss_ratio", 0.0, 1.0, burst.good_loss_ratio);
    burst.bad_loss_ratio = fields.number("bad_loss_ratio", 0.0, 1.0, burst.bad_loss_ratio);
    fields.finish();
    return burst;
}

LinkKind read_link_kind(Fields fields) {
    constexpr std::int64_t least = 1'000, most = 1'000'000'000'000;
    LinkKind kind;
    kind.up_rate_bit_per_s = fields.integer("rate_bit_per_s", least, most);
    kind.down_rate_bit_per_s = fields.optional_integer("down_rate_bit_per_s", least, most)
                                   .value_or(kind.up_rate_bit_per_s);
    kind.both_ways_bit_per_s =
        fields.optional_integer("both_ways_bit_per_s", least, most).value_or(0);
    kind.propagation = take_time(fields, "propagation_ns", 0);
    kind.loss_ratio = fields.number("loss_ratio", 0.0, 1.0, 0.0);
    if (fields.has("burst")) {
        kind.burst = read_burst(fields.object("burst"));
    }
    fields.finish();
    return kind;
}

std::optional<Room> read_room(Fields& fields, const std::string& prefix) {
    const auto packets = fields.optional_integer(prefix + "_packets", 1, most_packets_held);
    const auto bytes = fields.optional_integer(prefix + "_bytes", 1, most_bytes_held);
    if (!packets && !bytes) {
        return std::nullopt;
    }
    return Room{packets.value_or(unlimited), bytes.value_or(unlimited)};
}

SwitchKind read_switch_kind(Fields fields) {
    SwitchKind kind;
    kind.architecture = choose<Buffering>(
        {{"input", Buffering::input}, {"output", Buffering::output}, {"shared", Buffering::shared}},
        "architecture", fields.text("architecture", 32));
    kind.buffer = read_room(fields, "buffer").value_or(Room{});
    kind.uplink_buffer = read_room(fields, "uplink_buffer");
    if (kind.architecture == Buffering::shared) {
        kind.port_cap = read_room(fields, "port_cap").value_or(Room{});
    }
    kind.cut_through = fields.flag("cut_through", false);
    kind.latency = take_time(fields, "latency_ns", 0);
    if (kind.architecture == Buffering::input) {
        kind.fair = choose<bool>({{"fair", true}, {"fixed", false}}, "service",
                                 fields.optional_text("service", 32).value_or("fair"));
        kind.output_stage_packets =
            fields.optional_integer("output_stage_packets", 0, most_packets_held).value_or(0);
    } else {
        kind.control_first = fields.flag("control_first", false);
    }
    if (fields.has("pause")) {
        Fields pause = fields.object("pause");
        PausePlan plan;
        plan.high_packets = pause.integer("high_packets", 1, most_packets_held);
        plan.low_packets = pause.integer("low_packets", 0, plan.high_packets - 1);
        pause.finish();
        kind.pause = plan;
    }
    fields.finish();
    return kind;
}

// A JSON object of named kinds; they are numbered in the order of their names.
template <class Kind, class Read>
Names read_named(Fields& fields, const json& input, const std::string& what,
                 std::vector<Kind>& kinds, Read read) {
    (void)fields.object(what); // it is taken, and it is an object
    Names names;
    const auto found = input.find(what);
    if (found == input.end()) {
        return names;
    }
    if (found->size() > most_kinds) {
        throw Failure("bad_request", what + ": there are " + std::to_string(found->size()) +
                                         ", expected at most " + std::to_string(most_kinds));
    }
    for (const auto& [name, value] : found->items()) {
        if (name.empty() || name.size() > 32) {
            throw Failure("bad_request", what + ": a name has 1 to 32 characters");
        }
        names.emplace(name, static_cast<std::uint32_t>(kinds.size()));
        kinds.push_back(read(Fields(value, std::string(what).append(".").append(name))));
    }
    return names;
}

struct Known {
    Names host_kinds, link_kinds, switch_kinds, switches;
};

SwitchEntry read_switch(Fields fields, const Known& known, bool is_root) {
    SwitchEntry entry;
    entry.name = fields.text("name", 32);
    entry.kind = find_name(known.switch_kinds, "switch_kinds:", fields.text("kind", 32));
    if (!is_root) {
        entry.parent = find_name(known.switches, "switch " + entry.name + ": parent",
                                 fields.text("parent", 32));
        entry.link = find_name(known.link_kinds, "link_kinds:", fields.text("link", 32));
    }
    fields.finish();
    return entry;
}

HostGroup read_group(Fields fields, const Known& known) {
    HostGroup group;
    group.at_switch = find_name(known.switches, "hosts: switch", fields.text("switch", 32));
    group.count = static_cast<std::uint32_t>(fields.integer("count", 1, most_hosts_simulated));
    group.kind = find_name(known.host_kinds, "host_kinds:", fields.text("kind", 32));
    group.link = find_name(known.link_kinds, "link_kinds:", fields.text("link", 32));
    fields.finish();
    return group;
}

void read_switches(Fields& fields, Scenario& scenario, Known& known) {
    for (const json& entry : fields.list("switches", most_switches_simulated)) {
        const bool is_root = scenario.switches.empty();
        scenario.switches.push_back(read_switch(Fields(entry, "switches"), known, is_root));
        const std::string& name = scenario.switches.back().name;
        const auto number = static_cast<std::uint32_t>(scenario.switches.size() - 1);
        if (name.empty() || !known.switches.emplace(name, number).second) {
            throw Failure("bad_request",
                          "switches: the name '" + name + "' stands twice or is empty");
        }
    }
    if (scenario.switches.empty()) {
        throw Failure("bad_request", "switches: there are none, expected at least one");
    }
}

void read_hosts(Fields& fields, Scenario& scenario, const Known& known) {
    std::int64_t hosts = 0;
    for (const json& entry : fields.list("hosts", most_hosts_simulated)) {
        scenario.groups.push_back(read_group(Fields(entry, "hosts"), known));
        hosts += scenario.groups.back().count;
    }
    if (hosts < 2 || hosts > most_hosts_simulated) {
        throw Failure("bad_request", "hosts: there are " + std::to_string(hosts) +
                                         ", expected 2 to " + std::to_string(most_hosts_simulated));
    }
    scenario.hosts = static_cast<std::uint32_t>(hosts);
}

} // namespace

void read_places(Fields& fields, const json& input, Scenario& scenario) {
    Known known;
    known.host_kinds = read_named(fields, input, "host_kinds", scenario.host_kinds, read_host_kind);
    known.link_kinds = read_named(fields, input, "link_kinds", scenario.link_kinds, read_link_kind);
    known.switch_kinds =
        read_named(fields, input, "switch_kinds", scenario.switch_kinds, read_switch_kind);
    read_switches(fields, scenario, known);
    read_hosts(fields, scenario, known);
}

} // namespace sonde::simulator
