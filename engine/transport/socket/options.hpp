// The socket options under test: applied before listen() and connect(), read back afterwards.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/request.hpp"

namespace sonde {

struct SocketOptions {
    std::optional<int> send_buffer_bytes;
    std::optional<int> receive_buffer_bytes;
    std::optional<bool> no_delay;
    std::optional<std::string> congestion_control;
    std::optional<int> max_segment_bytes;
    bool spin = false;      // wait: spin
    std::optional<int> cpu; // of the timed thread
};

// Takes the nested object `options`; throws Failure("bad_request").
[[nodiscard]] SocketOptions read_socket_options(Fields& request, bool tcp);

// Throws Failure naming the option and, where it helps, what is allowed here.
void apply_socket_options(int fd, const SocketOptions& options, bool tcp);

// What the kernel gave, by the names of `done` of `open`.
[[nodiscard]] nlohmann::json obtained_options(int fd, bool tcp);

} // namespace sonde
