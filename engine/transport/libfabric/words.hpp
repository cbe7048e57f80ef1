// The words of a study for what is chosen.
#pragma once

#include <string_view>

#include "transport/libfabric/options.hpp"

namespace sonde {

[[nodiscard]] constexpr std::string_view word_of(EndpointKind kind) noexcept {
    switch (kind) {
    case EndpointKind::msg:
        return "msg";
    case EndpointKind::rdm:
        return "rdm";
    case EndpointKind::dgram:
        break;
    }
    return "dgram";
}

[[nodiscard]] constexpr std::string_view word_of(FabricOperation operation) noexcept {
    switch (operation) {
    case FabricOperation::send:
        return "send";
    case FabricOperation::write:
        return "write";
    case FabricOperation::read:
        return "read";
    case FabricOperation::atomic:
        break;
    }
    return "atomic";
}

} // namespace sonde
