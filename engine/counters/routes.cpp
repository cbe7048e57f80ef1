#include "counters/routes.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/descriptor.hpp"

namespace sonde {
namespace {

using Bytes = std::span<const std::byte>;
constexpr timeval patience{.tv_sec = 1, .tv_usec = 0};
constexpr std::size_t most_routes = 4096; // of a router's full table the first ones will do

// The content of the first attribute of a type; empty where there is none.
Bytes attribute_of(Bytes attributes, int type) {
    while (attributes.size() >= sizeof(rtattr)) {
        rtattr head{};
        std::memcpy(&head, attributes.data(), sizeof head);
        if (head.rta_len < sizeof head || head.rta_len > attributes.size()) {
            return {};
        }
        if ((head.rta_type & NLA_TYPE_MASK) == type) {
            return attributes.subspan(sizeof head, head.rta_len - sizeof head);
        }
        const std::size_t step = (head.rta_len + 3U) & ~std::size_t{3};
        attributes = attributes.subspan(std::min(step, attributes.size()));
    }
    return {};
}

// A metric of a route; none and 0 are alike to the kernel.
std::optional<std::uint32_t> metric(Bytes metrics, int type) {
    const Bytes content = attribute_of(metrics, type);
    std::uint32_t value = 0;
    if (content.size() < sizeof value) {
        return {};
    }
    std::memcpy(&value, content.data(), sizeof value);
    return value > 0 ? std::optional(value) : std::nullopt;
}

void keep_least(std::optional<std::uint32_t>& least, std::optional<std::uint32_t> found) {
    if (found && (!least || *found < *least)) {
        least = found;
    }
}

} // namespace

RouteSettings settings_of_route(Bytes message) {
    if (message.size() < sizeof(rtmsg)) {
        return {};
    }
    const Bytes metrics = attribute_of(message.subspan(sizeof(rtmsg)), RTA_METRICS);
    return {.rto_min_ms = metric(metrics, RTAX_RTO_MIN),
            .window_bytes = metric(metrics, RTAX_WINDOW)};
}

RouteSettings least_route_settings() {
    const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    struct {
        nlmsghdr head;
        rtmsg message;
    } request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = RTM_GETROUTE;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.message.rtm_family = AF_UNSPEC;
    RouteSettings least;
    if (!socket ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        ::send(socket.get(), &request, sizeof request, 0) < 0) {
        return least;
    }
    std::array<std::byte, 32768> answer{};
    std::size_t seen = 0;
    while (seen < most_routes) {
        const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
        if (got <= 0) {
            return least;
        }
        Bytes bytes(answer.data(), static_cast<std::size_t>(got));
        while (bytes.size() >= sizeof(nlmsghdr)) {
            nlmsghdr head{};
            std::memcpy(&head, bytes.data(), sizeof head);
            if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes.size() ||
                head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) {
                return least;
            }
            if (head.nlmsg_type == RTM_NEWROUTE) {
                ++seen;
                const RouteSettings found =
                    settings_of_route(bytes.subspan(sizeof head, head.nlmsg_len - sizeof head));
                keep_least(least.rto_min_ms, found.rto_min_ms);
                keep_least(least.window_bytes, found.window_bytes);
            }
            const std::size_t step = (head.nlmsg_len + 3U) & ~std::size_t{3};
            bytes = bytes.subspan(std::min(step, bytes.size()));
        }
    }
    return least;
}

} // namespace sonde
