// Attempts at memory of the other end that this one has no right to.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "transport/libfabric/exposed.hpp"
#include "transport/libfabric/options.hpp"

namespace sonde {

struct TrespassVerdict {
    bool refused = false;
    bool answered = false; // false: neither done nor refused in time
    bool read = false;     // the other end's content is here
    std::string why;       // the provider's words
};

// At the origin: tries once. The other end's memory holds what the seed gives, and where it has
// been released, it has been before.
[[nodiscard]] TrespassVerdict try_trespass(FabricEndpoint& endpoint, const MeetingPoint& meeting,
                                           const FabricOptions& options, ExposedMemory& exposed,
                                           std::uint64_t secret_seed,
                                           const std::atomic<bool>& interrupted);

} // namespace sonde
