// What a stream says when it cannot go on, whatever calls it is made of.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "core/failure.hpp"

namespace sonde {

// interrupted: the guard closed the socket.
[[nodiscard]] inline Failure closed_stream(bool interrupted, std::size_t missing,
                                           std::size_t whole) {
    const std::string awaited = "while " + std::to_string(missing) + " of " +
                                std::to_string(whole) + " bytes of a message were waited for";
    if (interrupted) {
        return {"timeout", awaited};
    }
    return {"peer_lost", "the other end closed the test connection " + awaited};
}

[[nodiscard]] inline Failure lost_stream(bool interrupted, const char* doing, int error) {
    if (interrupted) {
        return {"timeout", "while " + std::string(doing) + " a message"};
    }
    return {"peer_lost", "the test connection was lost while " + std::string(doing) +
                             " a message: " + std::strerror(error)};
}

} // namespace sonde
