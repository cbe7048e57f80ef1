#include "schedule/read_window.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.hpp"
#include "schedule/alltoall_hierarchy.hpp"

namespace sonde::schedule {

namespace {

std::vector<std::int64_t> read_uplinks(Fields& fields) {
    std::vector<std::int64_t> buffers;
    for (const nlohmann::json& buffer : fields.list("uplink_buffer_packets", most_levels)) {
        const double value = buffer.is_number_integer() ? buffer.get<double>() : 0.0;
        if (value < 1.0 || value > static_cast<double>(most_buffer_packets)) {
            throw Failure("bad_request",
                          "request: each of uplink_buffer_packets must be an integer from 1 to " +
                              std::to_string(most_buffer_packets) + ", not " + buffer.dump());
        }
        buffers.push_back(buffer.get<std::int64_t>());
    }
    return buffers;
}

// Of uplinks from the leaf switches' on, of a host's port, and of the root, whose links share it.
struct Buffers {
    std::vector<std::int64_t> uplinks;
    std::optional<std::int64_t> port;
    std::optional<std::int64_t> root;

    [[nodiscard]] bool empty() const { return uplinks.empty() && !port && !root; }
};

struct Named {
    Bottleneck bottleneck;
    std::string name;
};

void require_levels(const Buffers& buffers, const Parameters& parameters) {
    const std::size_t levels = parameters.hierarchy.size();
    if (!buffers.uplinks.empty() && levels != buffers.uplinks.size() + 1) {
        throw Failure("bad_request",
                      "request: uplink_buffer_packets has " +
                          std::to_string(buffers.uplinks.size()) + " numbers and the hierarchy " +
                          std::to_string(levels) +
                          " levels; expected a number for each level but the root's");
    }
    if (buffers.root && levels < 2) {
        throw Failure("bad_request", "request: root_buffer_packets needs a hierarchy of 2 levels "
                                     "or more: it is of the switch that the others' uplinks meet "
                                     "at");
    }
}

std::vector<Named> bottlenecks_of(const Buffers& buffers, const Hierarchy& hierarchy,
                                  const Parameters& parameters) {
    std::vector<Named> found;
    for (std::size_t level = 1; level <= buffers.uplinks.size(); ++level) {
        found.push_back({{.hosts_below = hierarchy.hosts_below(level),
                          .buffer_packets = buffers.uplinks[level - 1]},
                         "the uplinks of level " + std::to_string(level)});
    }
    if (buffers.port) {
        found.push_back({{.hosts_below = 1, .buffer_packets = *buffers.port}, "a host's port"});
    }
    if (buffers.root) {
        found.push_back({{.hosts_below = hierarchy.hosts_below(parameters.hierarchy.size() - 1),
                          .buffer_packets = *buffers.root,
                          .links = parameters.hierarchy.back()},
                         "the root"});
    }
    return found;
}

std::int64_t window_of(const Buffers& buffers, bool control_traffic, const Parameters& parameters) {
    require_levels(buffers, parameters);
    // Of a port alone the share is the same for any number of hosts.
    const Hierarchy hierarchy(parameters.hierarchy.empty() ? std::vector<Rank>{2}
                                                           : parameters.hierarchy);
    std::vector<Named> named = bottlenecks_of(buffers, hierarchy, parameters);
    std::vector<Bottleneck> bottlenecks;
    for (Named& each : named) {
        each.bottleneck.control_traffic = control_traffic;
        bottlenecks.push_back(each.bottleneck);
    }
    const auto narrowest = narrowest_window(hierarchy.ranks(), bottlenecks);
    if (!narrowest) {
        throw Failure("bad_request", "request: nothing of these buffers carries anything in this "
                                     "hierarchy, so that they give no window; give a window");
    }
    if (narrowest->packets == 0) {
        throw Failure("bad_request", "request: one packet of each rank is already more than " +
                                         named[narrowest->bottleneck].name +
                                         " can hold; give a window, and expect losses");
    }
    return narrowest->packets;
}

std::optional<std::int64_t> read_buffer(Fields& fields, std::string_view name) {
    return fields.optional_integer(name, 1, most_buffer_packets);
}

} // namespace

std::int64_t read_window(Fields& fields, const Parameters& parameters) {
    const auto given =
        fields.optional_integer("window", 0, std::numeric_limits<std::int32_t>::max());
    Buffers buffers;
    buffers.uplinks = read_uplinks(fields);
    buffers.port = read_buffer(fields, "port_buffer_packets");
    buffers.root = read_buffer(fields, "root_buffer_packets");
    const auto control_traffic = fields.optional_flag("control_traffic");
    if (control_traffic && buffers.empty()) {
        throw Failure("bad_request", "request: control_traffic is of use with "
                                     "buffers only");
    }
    if (given || buffers.empty()) {
        return given.value_or(0);
    }
    return window_of(buffers, control_traffic.value_or(true), parameters);
}

} // namespace sonde::schedule
