#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"
#include "transport/socket/sockets.hpp"

namespace sonde {
namespace {

constexpr std::int64_t greeting_patience_ns = 1'000'000'000;
constexpr std::size_t most_pending = 16;
constexpr int listen_backlog = 16;
constexpr int port_attempts = 32;

bool send_welcome(int fd, const Admission& admission) {
    const Greeting welcome = make_greeting(Purpose::welcome, admission);
    return ::send(fd, welcome.data(), welcome.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(welcome.size());
}

} // namespace

Listener::Listener(ListenParameters parameters) : parameters_(std::move(parameters)) {
    rehearse();
    // The kernel chooses a free TCP port, which need not be free for datagrams: then another.
    for (int attempt = 1;; ++attempt) {
        bind();
        try {
            if (parameters_.kind == SocketKind::udp) {
                bind_datagrams(port());
            }
            break;
        } catch (const Failure&) {
            if (parameters_.address.port() != 0 || attempt == port_attempts) {
                throw;
            }
        }
    }
    if (::listen(listener_.get(), listen_backlog) != 0) {
        throw system_failure("listen at " + parameters_.address.text());
    }
}

// What the kernel refuses is refused here, before anybody comes.
void Listener::rehearse() const {
    if (parameters_.kind == SocketKind::tcp) {
        const Descriptor fd = make_socket(parameters_.address.domain(), SOCK_STREAM, "options",
                                          stream_protocol(parameters_.options));
        apply_socket_options(fd.get(), parameters_.options, true);
    }
}

void Listener::bind() {
    listener_ = make_socket(parameters_.address.domain(), SOCK_STREAM, "listening",
                            stream_protocol(parameters_.options));
    set_flag(listener_.get(), SOL_SOCKET, SO_REUSEADDR, "set SO_REUSEADDR");
    if (::bind(listener_.get(), parameters_.address.get(), parameters_.address.size()) != 0) {
        throw system_failure("listen at " + parameters_.address.text());
    }
}

// Accepted connections inherit options; set on them later they would not bear on the window. The
// control connection must have none of them: it has been accepted by now, and the origin opens the
// one under test only when this one is welcomed.
void Listener::prepare_for_test() const {
    if (parameters_.kind == SocketKind::tcp) {
        apply_socket_options(listener_.get(), parameters_.options, true);
    }
}

void Listener::bind_datagrams(std::uint16_t port) {
    SocketAddress address = SocketAddress::local_of(listener_.get());
    datagrams_ = make_socket(address.domain(), SOCK_DGRAM, "datagrams");
    apply_socket_options(datagrams_.get(), parameters_.options, false);
    if (::bind(datagrams_.get(), address.get(), address.size()) != 0) {
        throw system_failure("receive datagrams at port " + std::to_string(port));
    }
}

std::uint16_t Listener::port() const { return SocketAddress::local_of(listener_.get()).port(); }

void Listener::interrupt() noexcept { ::shutdown(listener_.get(), SHUT_RDWR); }

bool Listener::allowed(const SocketAddress& peer) const {
    return !parameters_.allow || parameters_.allow->same_host(peer);
}

Connections Listener::accept(const Deadline& deadline) {
    Connections connections;
    connections.kind = parameters_.kind;
    connections.options = parameters_.options;
    connections.admission = parameters_.admission;
    connections.seal = seal_of(parameters_.admission, Speaker::target);
    const bool tcp = parameters_.kind == SocketKind::tcp;
    std::vector<Pending> pending;
    while (!connections.control || (tcp && !connections.test)) {
        std::vector<pollfd> fds;
        fds.reserve(pending.size() + 1);
        for (const Pending& one : pending) {
            fds.push_back({one.fd.get(), POLLIN, 0});
        }
        // With all places taken, newcomers wait in the backlog for at most a second.
        const bool room = pending.size() < most_pending;
        fds.push_back({room ? listener_.get() : -1, POLLIN, 0});
        deadline.poll(fds, greeting_patience_ns / 10, "the origin's connections");
        std::vector<bool> ready(pending.size());
        for (std::size_t i = 0; i < pending.size(); ++i) {
            ready[i] = fds[i].revents != 0;
        }
        hear(pending, ready, connections);
        if (fds.back().revents != 0) {
            take_newcomers(pending);
        }
    }
    set_blocking(connections.control.get(), true);
    if (tcp) {
        set_blocking(connections.test.get(), true);
    } else {
        meet_datagrams(connections, deadline);
    }
    return connections;
}

void Listener::take_newcomers(std::vector<Pending>& pending) const {
    while (pending.size() < most_pending) {
        SocketAddress peer;
        socklen_t size = SocketAddress::capacity;
        Descriptor fd(::accept4(listener_.get(), peer.get(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd) {
            if (errno == EINVAL || errno == EBADF) {
                throw Failure("timeout", "the listener was closed before the origin came");
            }
            return;
        }
        peer.set_size(size);
        if (allowed(peer)) {
            pending.push_back({std::move(fd), {}, 0, monotonic_ns() + greeting_patience_ns});
        }
    }
}

void Listener::hear(std::vector<Pending>& pending, const std::vector<bool>& ready,
                    Connections& connections) const {
    std::vector<Pending> staying;
    for (std::size_t i = 0; i < pending.size(); ++i) {
        Verdict verdict = Verdict::wait;
        if (ready[i]) {
            verdict = hear_one(pending[i], connections);
        }
        if (verdict == Verdict::wait && monotonic_ns() < pending[i].end_ns) {
            staying.push_back(std::move(pending[i]));
        }
    }
    pending = std::move(staying);
}

Listener::Verdict Listener::hear_one(Pending& one, Connections& connections) const {
    const ssize_t got =
        ::recv(one.fd.get(), one.bytes.data() + one.got, one.bytes.size() - one.got, 0);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? Verdict::wait : Verdict::drop;
    }
    one.got += static_cast<std::size_t>(got);
    if (one.got < one.bytes.size()) {
        return Verdict::wait;
    }
    const auto purpose = read_greeting(one.bytes, parameters_.admission);
    if (purpose == Purpose::control && !connections.control) {
        prepare_control(one.fd.get());
        prepare_for_test();
        if (send_welcome(one.fd.get(), parameters_.admission)) {
            connections.control = std::move(one.fd);
            return Verdict::take;
        }
    }
    if (purpose == Purpose::test && parameters_.kind == SocketKind::tcp && connections.control &&
        !connections.test && send_welcome(one.fd.get(), parameters_.admission)) {
        connections.test = std::move(one.fd);
        return Verdict::take;
    }
    return Verdict::drop;
}

// Greetings can be lost in both directions: the origin repeats its own until it is answered, and
// says over the control connection when it has been.
void Listener::meet_datagrams(Connections& connections, const Deadline& deadline) {
    const SocketAddress peer = SocketAddress::peer_of(connections.control.get());
    SocketControl control(std::move(connections.control), deadline.interrupted(),
                          seal_in(connections.seal));
    bool met = false;
    while (!control.arrived()) {
        std::array<pollfd, 2> fds{pollfd{datagrams_.get(), POLLIN, 0},
                                  pollfd{control.fd(), POLLIN, 0}};
        deadline.poll(fds, greeting_patience_ns, "the origin's datagrams");
        if (fds[0].revents != 0) {
            met = answer_datagram(peer) || met;
        }
    }
    control.expect(Frame::Kind::ready);
    connections.control = control.release();
    if (!met) {
        throw Failure("peer_lost", "the origin said that its datagrams arrive, but none did");
    }
    connections.test = std::move(datagrams_);
    set_blocking(connections.test.get(), true);
}

bool Listener::answer_datagram(const SocketAddress& peer) const {
    std::array<std::byte, greeting_bytes + 1> bytes{};
    SocketAddress from;
    socklen_t size = SocketAddress::capacity;
    const ssize_t got =
        ::recvfrom(datagrams_.get(), bytes.data(), bytes.size(), 0, from.get(), &size);
    from.set_size(size);
    if (got < 0 || !from.same_host(peer) ||
        read_greeting(std::span(bytes).first(static_cast<std::size_t>(got)),
                      parameters_.admission) != Purpose::test) {
        return false;
    }
    // From here on the kernel drops what comes from anybody else.
    return ::connect(datagrams_.get(), from.get(), from.size()) == 0 &&
           send_welcome(datagrams_.get(), parameters_.admission);
}

} // namespace sonde
