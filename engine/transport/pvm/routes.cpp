#include "transport/pvm/routes.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pvm3.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "transport/pvm/library.hpp"

namespace sonde::pvm {
namespace {

int domain_of(int fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 ? domain : -1;
}

// Not one that listens for its other end, or has lost it.
bool is_connected(int fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

} // namespace

std::vector<int> descriptors() {
    int* fds = nullptr; // the library's
    const int count = checked(::pvm_getfds(&fds), "ask which descriptors PVM has");
    return {fds, fds + count};
}

std::optional<RouteSocket> direct_route() {
    const std::vector<int> fds = descriptors();
    for (std::size_t i = 1; i < fds.size(); ++i) {
        if (is_connected(fds[i])) {
            return RouteSocket{fds[i], domain_of(fds[i]) == AF_UNIX};
        }
    }
    return std::nullopt;
}

std::optional<RouteTraffic> traffic_of(const RouteSocket& route) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (route.is_local || ::getsockopt(route.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return std::nullopt;
    }
    return RouteTraffic{static_cast<std::int64_t>(info.tcpi_bytes_acked),
                        static_cast<std::int64_t>(info.tcpi_bytes_received)};
}

std::string interface_with(const std::string& address) {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return "";
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        std::array<char, INET_ADDRSTRLEN> text{};
        if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
            ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr,
                        text.data(), text.size()) != nullptr &&
            address == text.data()) {
            return one->ifa_name;
        }
    }
    return "";
}

} // namespace sonde::pvm
