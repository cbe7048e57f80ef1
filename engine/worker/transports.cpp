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

std::string any_of(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != 0) {
            text += i + 1 == names.size() ? " or " : ", ";
        }
        text += names[i];
    }
    return text;
}

} // namespace sonde
