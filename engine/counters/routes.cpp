#include "counters/routes.hpp"

#include <linux/rtnetlink.h>

#include "core/netlink.hpp"

namespace sonde {
namespace {

using netlink::Bytes;
constexpr std::size_t most_routes = 4096; // of a router's full table the first ones will do

// The content of the first attribute of a type; empty where there is none.
Bytes attribute_of(Bytes attributes, int type) {
    std::optional<Bytes> found;
    netlink::for_each_attribute(attributes, [&](int each, Bytes content) {
        if (each == type && !found) {
            found = content;
        }
    });
    return found.value_or(Bytes());
}

// A metric of a route; none and 0 are alike to the kernel.
std::optional<std::uint32_t> metric(Bytes metrics, int type) {
    const auto value = netlink::value_in<std::uint32_t>(attribute_of(metrics, type));
    return value && *value > 0 ? value : std::nullopt;
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
    RouteSettings least;
    // What the first routes set will do where there are more.
    [[maybe_unused]] const int problem =
        netlink::dump(netlink::open_socket(), RTM_GETROUTE, rtmsg{}, 1, most_routes,
                      [&](const nlmsghdr& head, Bytes content) {
                          if (head.nlmsg_type == RTM_NEWROUTE) {
                              const RouteSettings found = settings_of_route(content);
                              keep_least(least.rto_min_ms, found.rto_min_ms);
                              keep_least(least.window_bytes, found.window_bytes);
                          }
                      });
    return least;
}

} // namespace sonde
