#include "emulator/probe.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "emulator/tap.hpp"

namespace sonde {

namespace {

constexpr int answer_timeout_ms = 1000;
constexpr std::size_t echo_bytes = 64;

std::int64_t to_nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint16_t internet_checksum(std::span<const std::byte> bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, &bytes[i], sizeof word);
        sum += word;
    }
    while (sum > UINT16_MAX) {
        sum = (sum & UINT16_MAX) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(~sum);
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
    std::array<std::byte, echo_bytes> bytes{};
    icmphdr header{};
    header.type = ICMP_ECHO;
    header.un.echo.id = htons(0x5D0);
    header.un.echo.sequence = htons(number);
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = internet_checksum(bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
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
        if (got < static_cast<ssize_t>(sizeof(iphdr) + sizeof(icmphdr)) || stamp == nullptr) {
            continue;
        }
        icmphdr header{};
        std::memcpy(&header, bytes.data() + sizeof(iphdr), sizeof header);
        if (header.type != ICMP_ECHOREPLY || ntohs(header.un.echo.sequence) != number) {
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
