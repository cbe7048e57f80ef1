// A socket for ICMP echoes to one host, whose kernel answers them.
#pragma once

#include <cstdint>

#include "core/descriptor.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/echoes.hpp"
#include "transport/socket/options.hpp"

namespace sonde {

class EchoSocket {
public:
    // A ping socket where net.ipv4.ping_group_range lets this process have one, else a raw one.
    // Throws Failure where it may have neither, or an option is not to be had.
    EchoSocket(const SocketAddress& target, const SocketOptions& options);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] bool is_raw() const noexcept { return is_raw_; }
    [[nodiscard]] Echoes& echoes() noexcept { return echoes_; }

private:
    struct Opened {
        Descriptor fd;
        std::uint16_t identifier = 0;
        bool is_raw = false;
    };
    static Opened open(const SocketAddress& target, const SocketOptions& options);
    EchoSocket(Opened opened, const SocketAddress& target);

    bool is_raw_;
    Descriptor fd_;
    Echoes echoes_;
};

} // namespace sonde
