// Connected sockets over loopback.
#pragma once

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "core/descriptor.hpp"

namespace sonde {

struct SocketPair {
    Descriptor a;
    Descriptor b;
};

inline sockaddr_in bound(int fd) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    return address;
}

inline void connect_to(int fd, const sockaddr_in& address) {
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

inline SocketPair tcp_pair() {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = bound(listener.get());
    REQUIRE(::listen(listener.get(), 1) == 0);
    Descriptor a(::socket(AF_INET, SOCK_STREAM, 0));
    connect_to(a.get(), address);
    return {std::move(a), Descriptor(::accept(listener.get(), nullptr, nullptr))};
}

inline SocketPair udp_pair() {
    Descriptor a(::socket(AF_INET, SOCK_DGRAM, 0));
    Descriptor b(::socket(AF_INET, SOCK_DGRAM, 0));
    const sockaddr_in of_a = bound(a.get());
    const sockaddr_in of_b = bound(b.get());
    connect_to(a.get(), of_b);
    connect_to(b.get(), of_a);
    return {std::move(a), std::move(b)};
}

} // namespace sonde
