// Numbers of endpoints, which tell ends on one host apart.
#pragma once

#include <cstdint>
#include <vector>

#include "core/descriptor.hpp"
#include "transport/link/driver.hpp"

namespace sonde {

// Numbers, one behind the other, that no other end on this host has for as long as this lives.
class ClaimedNumbers {
public:
    // Throws Failure where so many are not to be had.
    explicit ClaimedNumbers(std::uint16_t count = 1);
    [[nodiscard]] EndpointNumbers value() const noexcept { return value_; }

private:
    [[nodiscard]] bool claim_from(std::uint16_t first);

    std::vector<Descriptor> names_; // in the host's network namespace; they go with the process
    EndpointNumbers value_;
};

} // namespace sonde
