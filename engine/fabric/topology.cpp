#include "fabric/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/failure.hpp"

namespace sonde {

namespace {

constexpr std::int64_t least_rate_bit_per_s = 1'000;
constexpr std::int64_t most_rate_bit_per_s = 100'000'000'000;
constexpr std::int64_t most_delay_ns = 10'000'000'000;
constexpr std::int64_t least_mtu_bytes = 68;
constexpr std::int64_t most_mtu_bytes_allowed = 65'521; // what a TAP device takes
constexpr std::int64_t most_packets = 10'000'000;
constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

Capacity read_capacity(Fields& fields, const std::string& prefix) {
    return {fields.optional_integer(prefix + "_packets", 1, most_packets),
            fields.optional_integer(prefix + "_bytes", 1, most_bytes)};
}

Jitter read_jitter(Fields fields) {
    static const std::map<std::string, JitterShape> shapes{
        {"none", JitterShape::none},
        {"uniform", JitterShape::uniform},
        {"normal", JitterShape::normal},
        {"exponential", JitterShape::exponential},
        {"pareto", JitterShape::pareto}};
    Jitter jitter;
    const std::string shape = fields.text("distribution");
    const auto known = shapes.find(shape);
    if (known == shapes.end()) {
        throw Failure("bad_request",
                      "jitter: no distribution is called " + shape +
                          "; there are none, uniform, normal, exponential and pareto");
    }
    jitter.shape = known->second;
    jitter.mean_ns = fields.optional_integer("mean_ns", 0, most_delay_ns).value_or(0);
    jitter.deviation_ns = fields.optional_integer("deviation_ns", 0, most_delay_ns).value_or(0);
    jitter.tail_index = fields.number("tail_index", 1.01, 1000.0, jitter.tail_index);
    jitter.keep_order = fields.flag("keep_order", true);
    fields.finish();
    return jitter;
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

SwitchPlan read_switch(Fields fields) {
    static const std::map<std::string, Architecture> architectures{
        {"input", Architecture::input},
        {"output", Architecture::output},
        {"shared", Architecture::shared}};
    SwitchPlan plan;
    plan.name = fields.text("name", 32);
    const std::string architecture = fields.text("architecture");
    const auto known = architectures.find(architecture);
    if (known == architectures.end()) {
        throw Failure("bad_request", "switch " + plan.name + ": no architecture is called " +
                                         architecture + "; there are input, output and shared");
    }
    plan.architecture = known->second;
    plan.capacity = read_capacity(fields, "capacity");
    plan.port_cap = read_capacity(fields, "port_cap");
    plan.cut_through = fields.flag("cut_through", false);
    plan.latency_ns = fields.optional_integer("latency_ns", 0, most_delay_ns).value_or(0);
    if (fields.has("pause")) {
        Fields pause = fields.object("pause");
        PauseMarks marks;
        marks.high_packets = pause.integer("high_packets", 1, most_packets);
        marks.low_packets = pause.integer("low_packets", 0, marks.high_packets - 1);
        pause.finish();
        plan.pause = marks;
    }
    fields.finish();
    return plan;
}

LinkPlan read_link(Fields fields) {
    LinkPlan plan;
    plan.name = fields.text("name", 80);
    plan.lower = fields.text("lower", 32);
    plan.upper = fields.text("upper", 32);
    plan.up = read_line(fields.object("up"), LinePlan{});
    plan.down = read_line(fields.object("down"), LinePlan{});
    plan.lower_capacity = read_capacity(fields, "lower_capacity");
    plan.upper_capacity = read_capacity(fields, "upper_capacity");
    fields.finish();
    return plan;
}

// Every host and switch by its name, numbered hosts first.
using Places = std::map<std::string, std::size_t>;

Places number_places(const Topology& topology) {
    Places places;
    const auto add = [&](const std::string& name) {
        if (name.empty() || !places.emplace(name, places.size()).second) {
            throw Failure("bad_request", "topology: the name '" + name + "' stands twice");
        }
    };
    std::for_each(topology.hosts.begin(), topology.hosts.end(), add);
    for (const SwitchPlan& plan : topology.switches) {
        add(plan.name);
    }
    return places;
}

std::size_t place_of(const Places& places, const LinkPlan& link, const std::string& name) {
    const auto found = places.find(name);
    if (found == places.end()) {
        throw Failure("bad_request", "link " + link.name + ": nothing is called " + name);
    }
    return found->second;
}

// Joins the groups of a link's two ends; a link within one group would close a loop.
class Groups {
public:
    explicit Groups(std::size_t count) : group_(count) {
        std::iota(group_.begin(), group_.end(), std::size_t{0});
    }
    std::size_t of(std::size_t place) {
        while (group_[place] != place) {
            place = group_[place] = group_[group_[place]];
        }
        return place;
    }
    bool join(std::size_t a, std::size_t b) {
        const std::size_t first = of(a);
        const std::size_t second = of(b);
        group_[first] = second;
        return first != second;
    }

private:
    std::vector<std::size_t> group_;
};

void require_tree(Topology& topology) {
    const Places places = number_places(topology);
    Groups groups(places.size());
    std::vector<std::size_t> ports(places.size());
    std::set<std::string> names;
    for (LinkPlan& link : topology.links) {
        if (!names.insert(link.name).second) {
            throw Failure("bad_request", "topology: two links are called " + link.name);
        }
        const std::size_t lower = place_of(places, link, link.lower);
        const std::size_t upper = place_of(places, link, link.upper);
        link.from_host = lower < topology.hosts.size();
        if (upper < topology.hosts.size()) {
            throw Failure("bad_request", "link " + link.name + " must lead up to a switch");
        }
        if (!groups.join(lower, upper)) {
            throw Failure("bad_request", "link " + link.name + " closes a loop");
        }
        ++ports[lower];
        ++ports[upper];
    }
    for (const auto& [name, place] : places) {
        if (groups.of(place) != groups.of(0)) {
            throw Failure("bad_request", "topology: no way leads to " + name);
        }
        if (ports[place] > (place < topology.hosts.size() ? 1 : most_ports)) {
            throw Failure("bad_request", "topology: " + name + " has too many links");
        }
    }
}

} // namespace

std::int64_t Topology::most_mtu_bytes() const noexcept {
    std::int64_t most = 0;
    for (const LinkPlan& link : links) {
        most = std::max({most, link.up.mtu_bytes, link.down.mtu_bytes});
    }
    return most;
}

LinePlan read_line(Fields fields, const LinePlan& base) {
    LinePlan plan = base;
    plan.rate_bit_per_s =
        fields.optional_integer("rate_bit_per_s", least_rate_bit_per_s, most_rate_bit_per_s)
            .value_or(base.rate_bit_per_s);
    plan.delay_ns = fields.optional_integer("delay_ns", 0, most_delay_ns).value_or(base.delay_ns);
    plan.mtu_bytes = fields.optional_integer("mtu_bytes", least_mtu_bytes, most_mtu_bytes_allowed)
                         .value_or(base.mtu_bytes);
    plan.loss_ratio = fields.number("loss_ratio", 0.0, 1.0, base.loss_ratio);
    if (fields.has("burst")) {
        plan.burst = read_burst(fields.object("burst"));
    }
    plan.loss_every =
        fields.optional_integer("loss_every", 0, most_packets).value_or(base.loss_every);
    plan.bit_error_ratio = fields.number("bit_error_ratio", 0.0, 0.5, base.bit_error_ratio);
    plan.duplicate_ratio = fields.number("duplicate_ratio", 0.0, 1.0, base.duplicate_ratio);
    plan.reorder_ratio = fields.number("reorder_ratio", 0.0, 1.0, base.reorder_ratio);
    plan.reorder_delay_ns = fields.optional_integer("reorder_delay_ns", 0, most_delay_ns)
                                .value_or(base.reorder_delay_ns);
    if (fields.has("jitter")) {
        plan.jitter = read_jitter(fields.object("jitter"));
    }
    fields.finish();
    return plan;
}

Topology read_topology(Fields fields) {
    Topology topology;
    topology.seed = static_cast<std::uint64_t>(
        fields.optional_integer("seed", 0, std::int64_t{1} << 53).value_or(1));
    for (const nlohmann::json& name : fields.list("hosts", most_hosts)) {
        if (!name.is_string() || name.get_ref<const std::string&>().size() > 32) {
            throw Failure("bad_request", "topology: a host's name must be a short string");
        }
        topology.hosts.push_back(name.get<std::string>());
    }
    for (const nlohmann::json& plan : fields.list("switches", most_switches)) {
        topology.switches.push_back(read_switch(Fields(plan, "switch")));
    }
    for (const nlohmann::json& plan : fields.list("links", most_hosts + most_switches)) {
        topology.links.push_back(read_link(Fields(plan, "link")));
    }
    fields.finish();
    if (topology.hosts.empty() || topology.switches.empty()) {
        throw Failure("bad_request", "topology: needs a host and a switch");
    }
    require_tree(topology);
    return topology;
}

} // namespace sonde
