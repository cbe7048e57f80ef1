#include "transport/socket/sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

#include "core/failure.hpp"

namespace sonde {

Descriptor make_socket(int domain, int type, const char* what) {
    Descriptor fd(::socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
        throw system_failure("make a socket for " + std::string(what));
    }
    if (domain == AF_INET6) {
        set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, "restrict a socket to IPv6");
    }
    return fd;
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

void set_no_delay(int fd) { set_flag(fd, IPPROTO_TCP, TCP_NODELAY, "set TCP_NODELAY"); }

} // namespace sonde
