#include "transport/socket/echo_socket.hpp"
#include "transport/socket/source.hpp"

#include <linux/filter.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde {

namespace {

bool is_ipv6(const SocketAddress& address) { return address.domain() == AF_INET6; }

Descriptor make_echo_socket(const SocketAddress& target, int type) {
    return Descriptor(::socket(target.domain(), type | SOCK_CLOEXEC,
                               is_ipv6(target) ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}));
}

// After socket() failed, with its errno.
Failure no_socket() {
    if (errno == EPERM || errno == EACCES) {
        return {"system",
                "this process may not send ICMP echoes: net.ipv4.ping_group_range leaves its "
                "group out, and a raw socket takes root or CAP_NET_RAW"};
    }
    return system_failure("make a socket for ICMP echoes");
}

// All of ICMP that comes from the target would fill a raw socket's buffer and push our answers out:
// only what carries our identifier is to get in.
void take_own_only(int fd, bool of_ipv6, std::uint16_t identifier) {
    const sock_filter skip_ipv4_header = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0);
    const sock_filter no_header = BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0);
    std::array<sock_filter, 5> program{{
        of_ipv6 ? no_header : skip_ipv4_header,
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, EchoHeader::identifier_offset),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, identifier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    const sock_fprog filter{program.size(), program.data()};
    if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
        throw system_failure("filter what a raw socket takes");
    }
}

// Its own requests too, where the target is this host.
void take_answers_only(int fd, bool of_ipv6) {
    int result = 0;
    if (of_ipv6) {
        icmp6_filter filter{};
        ICMP6_FILTER_SETBLOCKALL(&filter);
        ICMP6_FILTER_SETPASS(echo_reply_ipv6, &filter);
        result = ::setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
    } else {
        constexpr int option_icmp_filter = 1; // ICMP_FILTER of linux/icmp.h
        const std::uint32_t blocked = ~(1U << echo_reply_ipv4);
        result = ::setsockopt(fd, SOL_RAW, option_icmp_filter, &blocked, sizeof blocked);
    }
    if (result != 0) {
        throw system_failure("filter what a raw socket takes");
    }
}

std::uint16_t random_identifier() {
    std::random_device source;
    return static_cast<std::uint16_t>(source());
}

EchoSocketKind kind_of(const SocketAddress& target, bool is_raw) {
    if (is_ipv6(target)) {
        return is_raw ? EchoSocketKind::raw_ipv6 : EchoSocketKind::ping_ipv6;
    }
    return is_raw ? EchoSocketKind::raw_ipv4 : EchoSocketKind::ping_ipv4;
}

} // namespace

EchoSocket::Opened EchoSocket::open(const SocketAddress& target, const SocketOptions& options) {
    Opened opened{make_echo_socket(target, SOCK_DGRAM)};
    if (!opened.fd) {
        opened = {make_echo_socket(target, SOCK_RAW), 0, true};
    }
    if (!opened.fd) {
        throw no_socket();
    }
    const int fd = opened.fd.get();
    if (opened.is_raw) {
        opened.identifier = random_identifier();
        take_own_only(fd, is_ipv6(target), opened.identifier);
        take_answers_only(fd, is_ipv6(target));
    }
    apply_socket_options(fd, options, false);
    choose_source(fd, options, target);
    if (::connect(fd, target.get(), target.size()) != 0) {
        throw system_failure("reach " + target.address());
    }
    if (!opened.is_raw) { // the kernel gives it an identifier, and calls it a port
        opened.identifier = SocketAddress::local_of(fd).port();
    }
    return opened;
}

EchoSocket::EchoSocket(Opened opened, const SocketAddress& target)
    : is_raw_(opened.is_raw), fd_(std::move(opened.fd)),
      echoes_(kind_of(target, is_raw_), opened.identifier) {}

EchoSocket::EchoSocket(const SocketAddress& target, const SocketOptions& options)
    : EchoSocket(open(target, options), target) {}

} // namespace sonde
