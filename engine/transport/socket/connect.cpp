#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/source.hpp"

namespace sonde {
namespace {

constexpr std::int64_t repeat_greeting_ns = 100'000'000;

Failure connect_failure(const SocketAddress& target, int error) {
    if (error == ECONNREFUSED) {
        return {"refused", "nothing listens at " + target.text() + " (connection refused)"};
    }
    return system_failure("connect to " + target.text(), error);
}

// The kernel may choose the very port that it is to connect to, and then connects to itself.
bool connected_to_itself(int fd) {
    const SocketAddress local = SocketAddress::local_of(fd);
    const SocketAddress peer = SocketAddress::peer_of(fd);
    return local.same_host(peer) && local.port() == peer.port();
}

void connect_tcp(int fd, const SocketAddress& target, const Deadline& deadline) {
    if (::connect(fd, target.get(), target.size()) != 0) {
        if (errno != EINPROGRESS) {
            throw connect_failure(target, errno);
        }
        deadline.await(fd, POLLOUT, target.text() + " to take the connection");
        int error = 0;
        socklen_t size = sizeof error;
        if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
            throw connect_failure(target, error);
        }
    }
    if (connected_to_itself(fd)) {
        throw connect_failure(target, ECONNREFUSED);
    }
}

void await_welcome(int fd, const ConnectParameters& parameters, const Deadline& deadline) {
    Greeting bytes{};
    std::size_t got = 0;
    while (got < bytes.size()) {
        deadline.await(fd, POLLIN, parameters.target.text() + " to welcome the connection");
        const ssize_t piece = ::recv(fd, bytes.data() + got, bytes.size() - got, MSG_DONTWAIT);
        if (piece < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (piece <= 0) {
            throw Failure("refused", parameters.target.text() +
                                         " closed the connection instead of welcoming it: it has "
                                         "another cookie or does not allow this address");
        }
        got += static_cast<std::size_t>(piece);
    }
    if (read_greeting(bytes, parameters.admission) != Purpose::welcome) {
        throw Failure("refused", parameters.target.text() + " is no waiting target of netsonde");
    }
}

Descriptor open_tcp(const ConnectParameters& parameters, Purpose purpose,
                    const Deadline& deadline) {
    const bool test = purpose == Purpose::test;
    Descriptor fd = make_socket(parameters.target.domain(), SOCK_STREAM, "a connection",
                                test ? stream_protocol(parameters.options) : 0);
    if (purpose == Purpose::control) {
        prepare_control(fd.get());
    } else {
        apply_socket_options(fd.get(), parameters.options, true);
    }
    choose_source(fd.get(), parameters.options, parameters.target);
    connect_tcp(fd.get(), parameters.target, deadline);
    set_blocking(fd.get(), true);
    const Greeting greeting = make_greeting(purpose, parameters.admission);
    if (::send(fd.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(greeting.size())) {
        throw connect_failure(parameters.target, errno);
    }
    await_welcome(fd.get(), parameters, deadline);
    return fd;
}

bool is_welcome(int fd, const Admission& admission) {
    std::array<std::byte, greeting_bytes + 1> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got >= 0 && read_greeting(std::span(bytes).first(static_cast<std::size_t>(got)),
                                     admission) == Purpose::welcome;
}

Descriptor open_udp(const ConnectParameters& parameters, const Deadline& deadline) {
    Descriptor fd = make_socket(parameters.target.domain(), SOCK_DGRAM, "datagrams");
    apply_socket_options(fd.get(), parameters.options, false);
    choose_source(fd.get(), parameters.options, parameters.target);
    if (::connect(fd.get(), parameters.target.get(), parameters.target.size()) != 0) {
        throw connect_failure(parameters.target, errno);
    }
    const Greeting greeting = make_greeting(Purpose::test, parameters.admission);
    const std::string what = "an answer to datagrams from " + parameters.target.text() +
                             " (does a firewall let UDP through?)";
    do {
        if (::send(fd.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL) < 0 &&
            errno != ECONNREFUSED && errno != EAGAIN) {
            throw system_failure("send datagrams to " + parameters.target.text());
        }
        pollfd one{fd.get(), POLLIN, 0};
        deadline.poll({&one, 1}, repeat_greeting_ns, what);
    } while (!is_welcome(fd.get(), parameters.admission));
    set_blocking(fd.get(), true);
    return fd;
}

} // namespace

Connections connect_to_target(const ConnectParameters& parameters, const Deadline& deadline) {
    Connections connections;
    connections.kind = parameters.kind;
    connections.options = parameters.options;
    connections.admission = parameters.admission;
    connections.seal = seal_of(parameters.admission, Speaker::origin);
    connections.control = open_tcp(parameters, Purpose::control, deadline);
    if (parameters.kind == SocketKind::tcp) {
        connections.test = open_tcp(parameters, Purpose::test, deadline);
    } else {
        connections.test = open_udp(parameters, deadline);
        SocketControl control(std::move(connections.control), deadline.interrupted(),
                              seal_in(connections.seal));
        control.send(Frame{Frame::Kind::ready});
        connections.control = control.release();
    }
    return connections;
}

} // namespace sonde
