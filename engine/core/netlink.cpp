#include "core/netlink.hpp"

#include <sys/time.h>

#include <array>

namespace sonde::netlink {

Descriptor open_socket() noexcept {
    constexpr timeval patience{.tv_sec = 1, .tv_usec = 0};
    Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (socket &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
        return {};
    }
    return socket;
}

int hear_table(const Descriptor& socket, std::uint32_t sequence, std::size_t most,
               const Hear& hear) {
    std::array<std::byte, 32768> piece{};
    std::size_t seen = 0;
    bool ended = false;
    int problem = 0;
    while (!ended) {
        const ssize_t got = ::recv(socket.get(), piece.data(), piece.size(), 0);
        if (got <= 0) {
            return got < 0 ? errno : ENODATA;
        }
        const Bytes bytes = Bytes(piece).first(static_cast<std::size_t>(got));
        ended = !for_each_message(bytes, [&](const nlmsghdr& head, Bytes content) {
            if (head.nlmsg_seq != sequence) { // of an earlier question
                return true;
            }
            if (head.nlmsg_type == NLMSG_DONE) {
                return false;
            }
            if (head.nlmsg_type == NLMSG_ERROR || ++seen > most) {
                problem = head.nlmsg_type == NLMSG_ERROR ? EPERM : E2BIG;
                return false;
            }
            hear(head, content);
            return true;
        });
    }
    return problem;
}

} // namespace sonde::netlink
