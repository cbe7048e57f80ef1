#include "emulator/probe.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/echo.hpp"
#include "core/failure.hpp"
#include "emulator/tap.hpp"

namespace sonde {

namespace {

constexpr int answer_timeout_ms = 1000;
constexpr std::uint16_t identifier = 0x5D0;
constexpr std::size_t content_bytes = 56; // as ping's

std::int64_t to_nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Descriptor open_echo_socket(const std::string& address) {
    Descriptor fd(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
    const int on = 1;
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    if (::inet_pton(AF_INET, address.c_str(), &peer.sin_addr) != 1) {
        throw Failure("bad_request", address + " is no IPv4 address");
    }
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
        throw system_failure("open a socket for echoes");
    }
    return fd;
}

std::int64_t send_echo(int fd, std::uint16_t number) {
    std::array<std::byte, EchoHeader::bytes + content_bytes> bytes{};
    EchoHeader::Packed header = EchoHeader{echo_request_ipv4, identifier, number}.packed();
    set_checksum(header, std::span(bytes).subspan(EchoHeader::bytes));
    std::memcpy(bytes.data(), header.data(), header.size());
    timespec sent{};
    clock_gettime(CLOCK_REALTIME, &sent);
    if (::send(fd, bytes.data(), bytes.size(), 0) < 0) {
        throw system_failure("send an echo request");
    }
    return to_nanoseconds(sent);
}

// When the kernel got the answer of that number; nothing where it does not come.
std::optional<std::int64_t> await_echo(int fd, std::uint16_t number) {
    const std::int64_t deadline_ns = monotonic_ns() + std::int64_t{answer_timeout_ms} * 1'000'000;
    while (monotonic_ns() < deadline_ns) {
        pollfd readable{fd, POLLIN, 0};
        if (::poll(&readable, 1, answer_timeout_ms) <= 0) {
            return std::nullopt;
        }
        std::array<std::byte, 256> bytes{};
        iovec part{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(timespec))> extra{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        const ssize_t got = ::recvmsg(fd, &message, 0);
        const cmsghdr* stamp = CMSG_FIRSTHDR(&message);
        if (got <= 0 || stamp == nullptr) {
            continue;
        }
        const auto header = read_echo_in_ipv4(
            std::span(bytes).first(std::min(bytes.size(), static_cast<std::size_t>(got))));
        if (!header || header->type != echo_reply_ipv4 || header->identifier != identifier ||
            header->sequence != number) {
            continue;
        }
        timespec arrived{};
        std::memcpy(&arrived, CMSG_DATA(stamp), sizeof arrived);
        return to_nanoseconds(arrived);
    }
    return std::nullopt;
}

} // namespace

std::vector<std::int64_t> echo_round_trips_ns(int network, const std::string& address, int count,
                                              std::int64_t pause_ns) {
    std::vector<std::int64_t> round_trips;
    in_network(network, [&] {
        const Descriptor fd = open_echo_socket(address);
        for (int i = 0; i < count; ++i) {
            const auto number = static_cast<std::uint16_t>(i);
            const std::int64_t sent = send_echo(fd.get(), number);
            if (const auto arrived = await_echo(fd.get(), number)) {
                round_trips.push_back(*arrived - sent);
            }
            const timespec pause{0, pause_ns};
            ::nanosleep(&pause, nullptr);
        }
    });
    return round_trips;
}

} // namespace sonde
