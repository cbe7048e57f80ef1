#include "schedule/read_window.hpp"

#include <limits>
#include <string>
#include <vector>

#include "core/failure.hpp"
#include "schedule/alltoall_hierarchy.hpp"

namespace sonde::schedule {

namespace {

std::vector<std::int64_t> read_buffers(Fields& fields) {
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

std::int64_t window_of(const std::vector<std::int64_t>& buffers, bool control_traffic,
                       const Parameters& parameters) {
    if (parameters.hierarchy.size() != buffers.size() + 1) {
        throw Failure("bad_request",
                      "request: uplink_buffer_packets has " + std::to_string(buffers.size()) +
                          " numbers and the hierarchy " +
                          std::to_string(parameters.hierarchy.size()) +
                          " levels; expected a number for each level but the root's");
    }
    const Hierarchy hierarchy(parameters.hierarchy);
    std::vector<Bottleneck> uplinks;
    for (std::size_t level = 1; level <= buffers.size(); ++level) {
        uplinks.push_back({.hosts_below = hierarchy.hosts_below(level),
                           .buffer_packets = buffers[level - 1],
                           .control_traffic = control_traffic});
    }
    const auto narrowest = narrowest_window(hierarchy.ranks(), uplinks);
    if (!narrowest) {
        throw Failure("bad_request", "request: no uplink of this hierarchy carries anything, so "
                                     "that uplink_buffer_packets gives no window; give a window");
    }
    if (narrowest->packets == 0) {
        throw Failure(
            "bad_request",
            "request: one packet of each rank is already more than the uplinks of level " +
                std::to_string(narrowest->bottleneck + 1) +
                " can hold; give a window, and expect losses");
    }
    return narrowest->packets;
}

} // namespace

std::int64_t read_window(Fields& fields, const Parameters& parameters) {
    const auto given =
        fields.optional_integer("window", 0, std::numeric_limits<std::int32_t>::max());
    const std::vector<std::int64_t> buffers = read_buffers(fields);
    const auto control_traffic = fields.optional_flag("control_traffic");
    if (control_traffic && buffers.empty()) {
        throw Failure("bad_request", "request: control_traffic is of use with "
                                     "uplink_buffer_packets only");
    }
    if (given || buffers.empty()) {
        return given.value_or(0);
    }
    return window_of(buffers, control_traffic.value_or(true), parameters);
}

} // namespace sonde::schedule
