#include "transport/link/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr int buffer_bytes = 4 << 20;
constexpr std::size_t most_short_bytes = 512;

Failure not_allowed() {
    return {
        "unsupported",
        "frames of our own need CAP_NET_RAW, which this worker has not: run it as root, or give "
        "it that by `setcap cap_net_raw+ep` on sonde-worker's file"};
}

Descriptor open_socket() {
    Descriptor fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd && (errno == EPERM || errno == EACCES)) {
        throw not_allowed();
    }
    if (!fd) {
        throw system_failure("open a socket for frames");
    }
    return fd;
}

// A list of parts takes the kernel longer to read than such a copy takes.
ssize_t send_short(int fd, std::span<const std::byte> headers, std::span<const std::byte> content) {
    std::array<std::byte, link_headers_bytes + most_short_bytes> frame; // NOLINT: filled below
    std::memcpy(frame.data(), headers.data(), link_headers_bytes);
    if (!content.empty()) {
        std::memcpy(frame.data() + link_headers_bytes, content.data(), content.size());
    }
    return ::send(fd, frame.data(), link_headers_bytes + content.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t send_long(int fd, std::span<const std::byte> headers, std::span<const std::byte> content) {
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(headers.data()), headers.size()},
                                {const_cast<std::byte*>(content.data()), content.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace

void require_frames() { static_cast<void>(open_socket()); }

Descriptor make_packet_socket() {
    Descriptor fd = open_socket();
    const int on = 1;
    if (::setsockopt(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0) {
        throw system_failure("leave out frames that are sent");
    }
    // The second where the first is not allowed: as much as the system lets everybody have.
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes) !=
        0) {
        static_cast<void>(
            ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes));
    }
    return fd;
}

void admit(int fd, EndpointNumbers numbers) {
    const std::uint32_t last = std::uint32_t{numbers.first} + numbers.count - 1;
    std::array<sock_filter, 5> program{{
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ethernet_header_bytes),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, numbers.first, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFF'FFFF),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
        throw system_failure("choose which frames are received");
    }
}

void bind_packet_socket(int fd, const LinkDevice& device) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(link_ether_type);
    address.sll_ifindex = device.index;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw system_failure("receive frames by interface " + device.name);
    }
}

bool send_frame(int fd, std::span<const std::byte> headers, std::span<const std::byte> content,
                DriverCopies& copied) {
    const bool is_short = content.size() <= most_short_bytes;
    const ssize_t sent =
        is_short ? send_short(fd, headers, content) : send_long(fd, headers, content);
    if (sent >= 0) [[likely]] {
        copied.sent += content.empty() ? 0 : is_short ? 2 : 1;
        return true;
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
        return false;
    }
    throw system_failure("send a frame");
}

bool is_drained(int fd) {
    int queued_bytes = 0;
    return ::ioctl(fd, SIOCOUTQ, &queued_bytes) != 0 || queued_bytes == 0;
}

std::uint64_t take_overflowed(int fd) {
    tpacket_stats counted{};
    socklen_t size = sizeof counted;
    return ::getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &counted, &size) == 0 ? counted.tp_drops
                                                                                 : 0;
}

} // namespace sonde
