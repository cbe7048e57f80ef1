#include "transport/socket/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/failure.hpp"
#include "core/netlink.hpp"
#include "transport/socket/numeric_address.hpp"

namespace sonde {
namespace {

const sockaddr_in& as_ipv4(const sockaddr* address) {
    return *reinterpret_cast<const sockaddr_in*>(address);
}
const sockaddr_in6& as_ipv6(const sockaddr* address) {
    return *reinterpret_cast<const sockaddr_in6*>(address);
}

} // namespace

Family read_family(Fields& fields) {
    const std::string name = fields.text("family", 16);
    if (name != "ipv4" && name != "ipv6") {
        throw Failure("bad_request", "request: family is " + name + ", expected ipv4 or ipv6");
    }
    return name == "ipv4" ? Family::ipv4 : Family::ipv6;
}

SocketAddress::SocketAddress(Family family, const std::string& text, std::uint16_t port) {
    const bool ipv4 = family == Family::ipv4;
    if (!read_address(ipv4 ? AF_INET : AF_INET6, text, storage_)) {
        throw Failure("bad_request", "request: " + text + " is no numeric " +
                                         (ipv4 ? "IPv4" : "IPv6") + " address");
    }
    size_ = ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (ipv4) {
        reinterpret_cast<sockaddr_in&>(storage_).sin_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in6&>(storage_).sin6_port = htons(port);
    }
}

SocketAddress SocketAddress::any(Family family, std::uint16_t port) {
    return {family, family == Family::ipv4 ? "0.0.0.0" : "::", port};
}

SocketAddress SocketAddress::local_of(int fd) {
    SocketAddress address;
    address.size_ = capacity;
    if (::getsockname(fd, address.get(), &address.size_) != 0) {
        throw system_failure("tell a socket's own address");
    }
    return address;
}

SocketAddress SocketAddress::peer_of(int fd) {
    SocketAddress address;
    address.size_ = capacity;
    if (::getpeername(fd, address.get(), &address.size_) != 0) {
        throw system_failure("tell the other end's address");
    }
    return address;
}

std::uint16_t SocketAddress::port() const noexcept {
    return ntohs(domain() == AF_INET ? as_ipv4(get()).sin_port : as_ipv6(get()).sin6_port);
}

std::string SocketAddress::address() const {
    const std::string text = address_text(get());
    return text.empty() ? "unknown" : text;
}

std::string SocketAddress::text() const { return address() + " port " + std::to_string(port()); }

bool SocketAddress::same_host(const SocketAddress& other) const noexcept {
    if (domain() != other.domain()) {
        return false;
    }
    if (domain() == AF_INET) {
        return as_ipv4(get()).sin_addr.s_addr == as_ipv4(other.get()).sin_addr.s_addr;
    }
    return std::memcmp(&as_ipv6(get()).sin6_addr, &as_ipv6(other.get()).sin6_addr,
                       sizeof(in6_addr)) == 0;
}

namespace {

std::string interface_name(unsigned index) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(index, name.data()) == nullptr ? "" : name.data();
}

struct RouteQuestion {
    nlmsghdr header{};
    rtmsg message{};
    std::array<unsigned char, 2 * RTA_LENGTH(sizeof(in6_addr))> attributes{};

    void add(unsigned short type, const SocketAddress& one) {
        const bool ipv4 = one.domain() == AF_INET;
        const std::size_t bytes = ipv4 ? sizeof(in_addr) : sizeof(in6_addr);
        const void* address = ipv4 ? static_cast<const void*>(&as_ipv4(one.get()).sin_addr)
                                   : static_cast<const void*>(&as_ipv6(one.get()).sin6_addr);
        const rtattr head{static_cast<unsigned short>(RTA_LENGTH(bytes)), type};
        unsigned char* place = attributes.data() + header.nlmsg_len - NLMSG_LENGTH(sizeof message);
        std::memcpy(place, &head, sizeof head);
        std::memcpy(place + RTA_LENGTH(0), address, bytes);
        header.nlmsg_len += static_cast<std::uint32_t>(RTA_LENGTH(bytes)); // is a multiple of 4
    }
};

RouteQuestion ask_route(const SocketAddress& peer, const SocketAddress& local) {
    RouteQuestion question;
    const bool ipv4 = peer.domain() == AF_INET;
    const std::size_t address_bits = 8 * (ipv4 ? sizeof(in_addr) : sizeof(in6_addr));
    question.header.nlmsg_type = RTM_GETROUTE;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
    question.message.rtm_family = static_cast<unsigned char>(peer.domain());
    question.message.rtm_dst_len = static_cast<unsigned char>(address_bits);
    question.message.rtm_src_len = static_cast<unsigned char>(address_bits);
    question.add(RTA_DST, peer);
    question.add(RTA_SRC, local);
    return question;
}

std::optional<unsigned> interface_of(netlink::Bytes attributes) {
    std::optional<unsigned> found;
    netlink::for_each_attribute(attributes, [&](int type, netlink::Bytes content) {
        if (type == RTA_OIF && !found) {
            found = netlink::value_in<unsigned>(content);
        }
    });
    return found;
}

} // namespace

std::string interface_towards(const SocketAddress& peer, const SocketAddress& local) {
    if (peer.domain() == AF_INET6 && as_ipv6(peer.get()).sin6_scope_id != 0) {
        return interface_name(as_ipv6(peer.get()).sin6_scope_id);
    }
    const Descriptor socket = netlink::open_socket();
    const RouteQuestion question = ask_route(peer, local);
    std::array<std::byte, 8192> answer{};
    if (!socket || ::send(socket.get(), &question, question.header.nlmsg_len, 0) < 0) {
        return "";
    }
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0); // comes at once
    std::optional<unsigned> interface;
    netlink::for_each_message(
        netlink::Bytes(answer).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0))),
        [&](const nlmsghdr& head, netlink::Bytes content) {
            if (head.nlmsg_type == RTM_NEWROUTE && content.size() >= sizeof(rtmsg)) {
                interface = interface_of(content.subspan(sizeof(rtmsg)));
            }
            return false;
        });
    return interface ? interface_name(*interface) : "";
}

} // namespace sonde
