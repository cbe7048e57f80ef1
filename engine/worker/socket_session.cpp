#include "worker/socket_session.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

#include "core/failure.hpp"
#include "transport/socket/tcp_info.hpp"
#include "transport/socket/tcp_path.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/waits.hpp"
#include "worker/tcp_info_observer.hpp"

namespace sonde {
namespace {

// The IP header's 16-bit length, less the headers it includes.
constexpr std::size_t most_datagram_bytes_ipv4 = 65'535 - 20 - 8;
constexpr std::size_t most_datagram_bytes_ipv6 = 65'535 - 8;

void set_patience(int fd) {
    const timeval patience{0, datagram_patience_ns / 1'000};
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) {
        throw system_failure("set the patience of a datagram socket");
    }
}

// Closing then resets the connection. An end that gives up in the middle of a stream has often shut
// its window; without a reset its peer, waiting in send() for the window to open, would probe it
// for as long as the kernel remembers the connection. A test in order has nothing under way any
// more.
void reset_on_close(int fd) {
    const linger at_once{1, 0};
    if (::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0) {
        throw system_failure("set how the test connection is closed");
    }
}

} // namespace

SocketSession::SocketSession(Connections connections, int rank,
                             const std::atomic<bool>& interrupted)
    : kind_(connections.kind), options_(connections.options), rank_(rank),
      interrupted_(interrupted), control_(std::move(connections.control), interrupted),
      test_(std::move(connections.test)),
      interface_(interface_towards(SocketAddress::peer_of(test_.get()))), pinned_(options_.cpu) {
    if (kind_ == SocketKind::udp) {
        set_patience(test_.get());
    } else {
        reset_on_close(test_.get());
    }
}

nlohmann::json SocketSession::opened() const {
    nlohmann::json values = obtained_options(test_.get(), kind_ == SocketKind::tcp);
    const SocketAddress local = SocketAddress::local_of(test_.get());
    const SocketAddress peer = SocketAddress::peer_of(test_.get());
    values["local_address"] = local.address();
    values["local_port"] = local.port();
    values["peer_address"] = peer.address();
    values["peer_port"] = peer.port();
    if (!interface_.empty()) {
        values["interface"] = interface_;
    }
    return values;
}

void SocketSession::check(const RunParameters& run) const {
    if (run.test == Test::collective) {
        throw Failure("bad_request", "collective operations need MPI");
    }
    if (kind_ == SocketKind::tcp && run.message_bytes == 0) {
        throw Failure("bad_request", "TCP carries no empty messages: message_bytes must be at "
                                     "least 1");
    }
    if (kind_ == SocketKind::tcp && run.rate_bit_per_s != 0) {
        throw Failure("bad_request", "rate_bit_per_s is for udp: TCP paces itself");
    }
    const bool ipv4 = SocketAddress::local_of(test_.get()).domain() == AF_INET;
    const std::size_t most = ipv4 ? most_datagram_bytes_ipv4 : most_datagram_bytes_ipv6;
    if (kind_ == SocketKind::udp && run.message_bytes > most) {
        throw Failure("bad_request", "message_bytes is " + std::to_string(run.message_bytes) +
                                         ", and a datagram carries at most " +
                                         std::to_string(most));
    }
    if (kind_ == SocketKind::udp && run.rate_bit_per_s != 0 && run.message_bytes == 0) {
        throw Failure("bad_request", "empty datagrams carry no bits: leave out rate_bit_per_s, or "
                                     "ask for message_bytes of at least 1");
    }
}

template <class Wait>
Result SocketSession::run_waiting(const RunParameters& run, Timebase& timebase,
                                  const BatchHooks& hooks) {
    ++batch_;
    if (kind_ == SocketKind::udp) {
        UdpPath<Wait> path(test_.get(), interrupted_);
        return run_test(path, control_, rank_, batch_, run, timebase, hooks);
    }
    TcpPath<Wait> path(test_.get(), interrupted_);
    TcpInfoObserver observer(test_.get(), run.interval_ns,
                             run.count != 0 ? run.timeout_ns : run.duration_ns, timebase);
    Result result = run_test(path, control_, rank_, batch_, run, timebase, hooks, observer);
    const bool sends = run.test == Test::duplex || (run.test == Test::stream && rank_ == 0);
    if (sends) {
        observer.report(result, timebase);
    }
    return result;
}

Result SocketSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    return options_.spin ? run_waiting<SpinningWait>(run, timebase, hooks)
                         : run_waiting<BlockingWait>(run, timebase, hooks);
}

OwnTraffic SocketSession::own_traffic() const {
    const int control = control_.fd();
    const int test = test_.get();
    return {[control, test] {
                CounterValues values;
                for (const auto& [name, value] : connection_counters(TcpInfo::of(control))) {
                    values["connection.control." + name] = value;
                }
                for (const auto& [name, value] : connection_counters(TcpInfo::of(test))) {
                    values["connection.test." + name] = value;
                }
                return values;
            },
            interface_};
}

void SocketSession::interrupt() noexcept {
    control_.interrupt();
    ::shutdown(test_.get(), SHUT_RDWR);
}

} // namespace sonde
