#include "transport/socket/sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>

#include "core/failure.hpp"

namespace sonde {

Descriptor make_socket(int domain, int type, const char* what, int protocol) {
    Descriptor fd(::socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
    if (!fd) {
        throw system_failure("make a socket for " + std::string(what));
    }
    if (domain == AF_INET6) {
        set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, "restrict a socket to IPv6");
    }
    return fd;
}

void require_datagram(int domain, std::size_t bytes) {
    // The IP header's 16-bit length, less the headers it includes.
    const std::size_t most = domain == AF_INET ? 65'535 - 20 - 8 : 65'535 - 8;
    if (bytes > most) {
        throw Failure("bad_request", "message_bytes is " + std::to_string(bytes) +
                                         ", and a datagram carries at most " +
                                         std::to_string(most));
    }
}

void set_flag(int fd, int level, int name, const char* what) {
    const int on = 1;
    if (::setsockopt(fd, level, name, &on, sizeof on) != 0) {
        throw system_failure(what);
    }
}

void set_blocking(int fd, bool blocking) {
    const int flags = ::fcntl(fd, F_GETFL);
    const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    if (flags < 0 || ::fcntl(fd, F_SETFL, wanted) != 0) {
        throw system_failure("change how a socket waits");
    }
}

void set_patience(int fd, std::int64_t patience_ns) {
    const timeval patience{patience_ns / 1'000'000'000, patience_ns % 1'000'000'000 / 1'000};
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
        throw system_failure("set the patience of a datagram socket");
    }
}

Cork::Cork(int fd) noexcept : fd_(fd), set_(false) {
    int value = 0;
    socklen_t size = sizeof value;
    set_ = ::getsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, &size) == 0 && value != 0;
}

void Cork::set(int value) const noexcept {
    ::setsockopt(fd_, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

void prepare_control(int fd) {
    set_flag(fd, IPPROTO_TCP, TCP_NODELAY, "set TCP_NODELAY");
    set_flag(fd, SOL_SOCKET, SO_RCVLOWAT, "set SO_RCVLOWAT");
    const int usual = 0;
    if (::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &usual, sizeof usual) != 0) {
        throw system_failure("set TCP_NOTSENT_LOWAT");
    }
}

} // namespace sonde
