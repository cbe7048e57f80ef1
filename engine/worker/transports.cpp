#include "worker/transports.hpp"

#include <array>

#include "worker/echo_session.hpp"
#include "worker/link_session.hpp"
#include "worker/socket_session.hpp"

namespace sonde {
namespace {

constexpr std::array transports{
    WorkerTransport{.name = "tcp",
                    .listen = read_socket_listen<SocketKind::tcp>,
                    .connect = read_socket_connect<SocketKind::tcp>},
    WorkerTransport{.name = "udp",
                    .listen = read_socket_listen<SocketKind::udp>,
                    .connect = read_socket_connect<SocketKind::udp>},
    WorkerTransport{.name = "icmp", .alone = read_echoes},
    WorkerTransport{.name = "link", .listen = read_link_listen, .connect = read_link_connect},
};

} // namespace

std::span<const WorkerTransport> worker_transports() { return transports; }

} // namespace sonde
