#include "transport/socket/source.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

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

bool is_loopback(int fd, const std::string& name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    return ::ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_LOOPBACK) != 0;
}

// What leaves by loopback comes back to this host: for another one it would be waited in vain.
void require_way(int fd, const std::string& name, const SocketAddress& target) {
    if (is_loopback(fd, name) && interface_towards(target, SocketAddress::local_of(fd)) != name) {
        throw Failure("refused", "interface " + name + " leads to this host alone, and " +
                                     target.address() + " is another one");
    }
}

} // namespace

void choose_source(int fd, const SocketOptions& options, const SocketAddress& target) {
    if (options.interface) {
        const std::string& name = *options.interface;
        require_way(fd, name, target);
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
