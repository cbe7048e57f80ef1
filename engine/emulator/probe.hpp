// What the way through this machine costs: round trips of the kernel's own echo between two hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// ICMP round trips from a network namespace to an IPv4 address, one after the
// other with a pause between; from the send call to the kernel's own time stamp of the answer, so
// that no process's wake-up is in them. Unanswered ones (within a second) are left out.
// Throws Failure where they cannot be made.
[[nodiscard]] std::vector<std::int64_t> echo_round_trips_ns(int network, const std::string& address,
                                                            int count, std::int64_t pause_ns);

} // namespace sonde
