#include "transport/socket/source.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "core/failure.hpp"

namespace sonde {
namespace {

// The kernel chooses the port when it knows where to: several connections may then share one.
void leave_port_to_connect(int fd) {
    const int yes = 1;
    static_cast<void>(::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes));
}

std::string bound_interface(int fd) {
    std::array<char, IF_NAMESIZE> name{};
    socklen_t size = name.size();
    return ::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name.data(), &size) == 0 ? name.data()
                                                                                  : "";
}

} // namespace

void choose_source(int fd, const SocketOptions& options) {
    if (options.interface) {
        const std::string& name = *options.interface;
        if (::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name.data(),
                         static_cast<socklen_t>(name.size())) != 0) {
            throw system_failure("send by interface " + name);
        }
    }
    if (options.source_address) {
        const bool ipv6 = SocketAddress::local_of(fd).domain() == AF_INET6;
        const SocketAddress own(ipv6 ? Family::ipv6 : Family::ipv4, *options.source_address, 0);
        leave_port_to_connect(fd);
        if (::bind(fd, own.get(), own.size()) != 0) {
            throw system_failure("send from address " + own.address());
        }
    }
}

std::string interface_of(int fd, const SocketAddress& peer) {
    const std::string bound = bound_interface(fd);
    return bound.empty() ? interface_towards(peer, SocketAddress::local_of(fd)) : bound;
}

} // namespace sonde
