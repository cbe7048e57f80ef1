#include "transport/link/device.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

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

std::span<const std::byte> bytes_of(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        return std::as_bytes(
            std::span(&reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, 1));
    }
    if (address.sa_family == AF_INET6) {
        return std::as_bytes(
            std::span(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, 1));
    }
    return {};
}

bool is_of_a_network(const ifaddrs& each) {
    if (each.ifa_addr == nullptr || each.ifa_netmask == nullptr || (each.ifa_flags & IFF_UP) == 0 ||
        (each.ifa_flags & IFF_LOOPBACK) != 0) {
        return false;
    }
    const bool is_links_own =
        each.ifa_addr->sa_family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(each.ifa_addr)->sin6_addr);
    return !bytes_of(*each.ifa_addr).empty() && !is_links_own;
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

std::size_t fragment_bytes_on(const LinkDevice& device, std::optional<std::size_t> asked) {
    const std::size_t room = device.room_bytes();
    if (asked.value_or(0) > room) {
        throw Failure("bad_request", "fragments of " + std::to_string(*asked) +
                                         " bytes are larger than what interface " + device.name +
                                         " takes behind our header: its MTU is " +
                                         std::to_string(device.mtu_bytes) + ", which leaves " +
                                         std::to_string(room));
    }
    return asked.value_or(std::min(room, usual_fragment_bytes));
}

std::vector<LinkNetwork> networks_here() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        throw system_failure("list the interfaces");
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
    std::vector<LinkNetwork> found;
    for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
        if (!is_of_a_network(*each)) {
            continue;
        }
        LinkNetwork& network = found.emplace_back();
        const auto address = bytes_of(*each->ifa_addr);
        std::ranges::copy(bytes_of(*each->ifa_netmask), network.mask.begin());
        for (std::size_t i = 0; i < address.size(); ++i) {
            network.prefix.at(i) = address[i] & network.mask.at(i);
        }
        network.interface = each->ifa_name;
    }
    return found;
}

} // namespace sonde
