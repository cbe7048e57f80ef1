// The socket options under test: applied before listen() and connect(), read back afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/request.hpp"

namespace sonde {

enum class Waiting : std::uint8_t { block, spin, ready };

enum class SendingWay : std::uint8_t { copy, sendfile, zerocopy, uring };

struct SocketOptions {
    std::optional<int> send_buffer_bytes;
    std::optional<int> receive_buffer_bytes;
    std::optional<bool> no_delay;
    std::optional<std::string> congestion_control;
    std::optional<int> max_segment_bytes;
    std::optional<bool> cork;
    std::optional<int> not_sent_low_bytes; // the socket takes more only below so much unsent
    std::optional<int> window_clamp_bytes; // the receiver offers no larger window
    std::optional<int> traffic_class;      // the byte of the IP header: DSCP, or the older TOS
    std::optional<std::int64_t> pacing_bit_per_s; // the kernel sends no faster
    std::optional<int> busy_poll_us;
    bool multipath = false;
    std::size_t datagrams_per_call = 1;   // 1: each has a call of its own
    bool segment_offload = false;         // the kernel or the card cuts and joins datagrams
    std::optional<int> asks_before_sleep; // of a receiver of datagrams that follow each other
    Waiting wait = Waiting::block;
    SendingWay sending = SendingWay::copy;
    std::optional<std::string> file; // sendfile sends its content, not that of a message
    bool kernel_times = false;       // the kernel stamps messages on their way through the host
    bool depth = false;              // the worker watches the kernel with eBPF, where it may
    bool authenticated = false;      // what counts are taken from has a tag
    std::optional<int> cpu;          // of the timed thread
    std::optional<std::string> source_address; // of an end that connects
    std::optional<std::string> interface;      // by which it sends
};

// Takes the nested object `options`; throws Failure("bad_request").
[[nodiscard]] SocketOptions read_socket_options(Fields& request, bool tcp);

// What socket() is asked for: plain TCP, or several paths under one connection.
[[nodiscard]] int stream_protocol(const SocketOptions& options) noexcept;

// Throws Failure naming the option and, where it helps, what is allowed here.
void apply_socket_options(int fd, const SocketOptions& options, bool tcp);

// What the kernel gave, by the names of `done` of `open`.
[[nodiscard]] nlohmann::json obtained_options(int fd, bool tcp);

} // namespace sonde
