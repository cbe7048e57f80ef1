// What the two ends tell each other beside the fabric, over a connection that a cookie has opened:
// cards of a fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/descriptor.hpp"
#include "transport/socket/waiting.hpp"

namespace sonde {

constexpr std::size_t most_name_bytes = 256; // of an endpoint, in whatever form the provider has

struct FabricCard {
    enum class Kind : std::uint16_t { name = 1, connected, heard, memory, left, done };

    std::uint32_t magic = 0x46414231;
    Kind kind = Kind::name;
    std::uint16_t name_bytes = 0;
    std::uint32_t address_format = 0;
    std::uint32_t unused = 0;
    std::uint64_t address = 0; // of memory, as the other end has to name it
    std::uint64_t key = 0;
    std::uint64_t bytes = 0; // of that memory; left: receives for which nothing will come
    std::array<std::byte, most_name_bytes> name{};
};

class MeetingPoint {
public:
    explicit MeetingPoint(Descriptor connection) : connection_(std::move(connection)) {}

    void say(const FabricCard& card) const;
    // Throws Failure("peer_lost") where the other end is gone or says something else, and
    // Failure("timeout").
    [[nodiscard]] FabricCard hear(FabricCard::Kind kind, const Deadline& deadline) const;
    [[nodiscard]] bool has_card() const noexcept;
    // Whether the other end has closed, or is gone.
    [[nodiscard]] bool is_lost() const noexcept;
    // Ends a waiting hear(), from any thread.
    void interrupt() const noexcept;
    [[nodiscard]] int fd() const noexcept { return connection_.get(); }

private:
    Descriptor connection_;
};

} // namespace sonde
