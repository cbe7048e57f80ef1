// A global window as it comes in JSON: as a number, or as the buffers that it must not overflow.
#pragma once

#include "core/request.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

// Takes window, control_traffic, and buffers: uplink_buffer_packets (a number for each level of
// uplinks, from the leaf switches' on), port_buffer_packets and root_buffer_packets. A window that
// is given counts; otherwise it is the narrowest by Eq. (6.2), for the hierarchy that `parameters`
// have already. Without either: 0, no limit. Throws Failure("bad_request").
[[nodiscard]] std::int64_t read_window(Fields& fields, const Parameters& parameters);

} // namespace sonde::schedule
