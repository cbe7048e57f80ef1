// What a request asks of a transport over libfabric. Knows nothing of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/request.hpp"

namespace sonde {

// msg is connected, rdm reliable without a connection, dgram neither.
enum class EndpointKind : std::uint8_t { msg, rdm, dgram };

// How a message gets to the other end: by a receive there, into its memory, out of its memory, or
// as an addition to a number there.
enum class FabricOperation : std::uint8_t { send, write, read, atomic };

// What an end tries that it has no right to: with a key of its own making, beyond the memory that
// it was told of, or behind its end.
enum class Trespass : std::uint8_t { foreign_write, foreign_read, beyond_write, released_read };

struct FabricOptions {
    std::optional<std::string> provider; // none: the library's first choice
    EndpointKind endpoint = EndpointKind::rdm;
    FabricOperation operation = FabricOperation::send;
    bool inject = false;    // the library takes the message before the call returns
    bool spin = false;      // ends ask for completions again and again; else they sleep until one
    bool fresh = false;     // memory is registered for each message
    bool segmented = false; // what one post does not take is cut into several
    std::size_t parts = 1;  // a message lies in so many places
    std::optional<std::size_t> most_post_bytes; // a limit of our own, below the provider's
    bool at_target = true; // a write is complete where the other end sees it, else at its origin
    std::optional<Trespass> trespass;          // what a test of bounds tries
    std::optional<std::string> source_address; // of the end that begins
    bool kernel_trace = false;
    std::optional<int> cpu; // of the timed thread
};

constexpr std::size_t most_parts = 16;

// Takes the nested object `options`; throws Failure("bad_request").
[[nodiscard]] FabricOptions read_fabric_options(Fields& request);

// Whether one end alone acts, and the other only has memory.
[[nodiscard]] bool is_one_sided(const FabricOptions& options) noexcept;

} // namespace sonde
