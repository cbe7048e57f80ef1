// What a request asks of the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/request.hpp"
#include "transport/link/channel_rules.hpp"

namespace sonde {

// By calls of a packet socket, by a ring in shared memory, or by AF_XDP.
enum class DriverKind : std::uint8_t { packet, ring, xdp };
// How an end waits for a frame: it looks again and again, it sleeps, or first the one, then the
// other.
enum class LinkWait : std::uint8_t { spin, block, hybrid };

struct LinkOptions {
    DriverKind driver = DriverKind::ring;
    LinkWait wait = LinkWait::block;
    std::optional<std::size_t> fragment_bytes; // none: what a usual frame carries
    std::optional<std::string> source_address; // of the end that begins: it chooses the interface
    std::optional<int> cpu;                    // of the timed thread
    std::optional<ChannelRules> reliable;      // none: what is lost is lost
};

// Takes the nested object of that name; throws Failure("bad_request").
[[nodiscard]] LinkOptions read_link_options(Fields& request, std::string_view name = "options");

[[nodiscard]] std::string_view word_of(DriverKind driver) noexcept;
[[nodiscard]] std::string_view word_of(LinkWait wait) noexcept;
[[nodiscard]] std::string_view word_of(protocol::Acknowledge way) noexcept;

} // namespace sonde
