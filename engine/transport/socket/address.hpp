// Numeric IPv4 and IPv6 addresses with ports.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "core/request.hpp"

namespace sonde {

enum class Family : std::uint8_t { ipv4, ipv6 };

// Takes the field `family`; throws Failure("bad_request").
[[nodiscard]] Family read_family(Fields& fields);

class SocketAddress {
public:
    SocketAddress() = default;
    // Throws Failure("bad_request") where text is no address of the family. No name is looked up:
    // that could wait without bound. An IPv6 address may carry a %scope.
    SocketAddress(Family family, const std::string& text, std::uint16_t port);
    static SocketAddress any(Family family, std::uint16_t port);
    static SocketAddress local_of(int fd);
    static SocketAddress peer_of(int fd);

    [[nodiscard]] const sockaddr* get() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage_);
    }
    [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage_); }
    [[nodiscard]] socklen_t size() const noexcept { return size_; }
    void set_size(socklen_t size) noexcept { size_ = size; }
    static constexpr socklen_t capacity = sizeof(sockaddr_storage);

    [[nodiscard]] int domain() const noexcept { return storage_.ss_family; }
    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] std::string address() const; // without the port
    [[nodiscard]] std::string text() const;    // "10.0.0.1 port 5001"
    // Equal apart from the port.
    [[nodiscard]] bool same_host(const SocketAddress& other) const noexcept;

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

// The device by which the kernel sends from an address of this host to another; empty where it
// cannot be told.
[[nodiscard]] std::string interface_towards(const SocketAddress& peer, const SocketAddress& local);

} // namespace sonde
