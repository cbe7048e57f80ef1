#include "transport/link/device.hpp"

#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/descriptor.hpp"
#include "core/failure.hpp"

namespace sonde {
namespace {

ifreq asked(int fd, const std::string& name, unsigned long what) {
    ifreq request{};
    std::copy_n(name.begin(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
    if (::ioctl(fd, what, &request) != 0) {
        if (errno == ENODEV) {
            throw Failure("unsupported", "there is no interface " + name + " here");
        }
        throw system_failure("ask for interface " + name);
    }
    return request;
}

} // namespace

LinkDevice LinkDevice::of(const std::string& name) {
    if (name.empty()) {
        throw Failure("unsupported", "it cannot be told which interface leads to the other end");
    }
    const Descriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) {
        throw system_failure("ask for interface " + name);
    }
    LinkDevice device;
    device.name = name;
    device.index = asked(fd.get(), name, SIOCGIFINDEX).ifr_ifindex;
    device.mtu_bytes = static_cast<std::size_t>(asked(fd.get(), name, SIOCGIFMTU).ifr_mtu);
    const ifreq hardware = asked(fd.get(), name, SIOCGIFHWADDR);
    const auto kind = hardware.ifr_hwaddr.sa_family;
    if (kind != ARPHRD_ETHER && kind != ARPHRD_LOOPBACK) {
        throw Failure("unsupported", "interface " + name +
                                         ", by which the other end is reached, carries no Ethernet "
                                         "frames: link needs one that does");
    }
    std::memcpy(device.address.data(), hardware.ifr_hwaddr.sa_data, device.address.size());
    return device;
}

} // namespace sonde
