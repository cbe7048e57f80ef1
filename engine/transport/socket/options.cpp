#include "transport/socket/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t most_buffer_bytes = 1'073'741'824;
constexpr std::size_t most_algorithm_characters = 15;

std::optional<int> small(const std::optional<std::int64_t>& value) {
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

void set_option(int fd, int level, int name, int value, const std::string& what) {
    if (::setsockopt(fd, level, name, &value, sizeof value) != 0) {
        throw system_failure("set " + what + " to " + std::to_string(value));
    }
}

int get_option(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(fd, level, name, &value, &size) != 0) {
        throw system_failure("read a socket option");
    }
    return value;
}

bool is_algorithm_name(const std::string& name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

void set_congestion_control(int fd, const std::string& name) {
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) == 0) {
        return;
    }
    const int error = errno;
    std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
    std::string available;
    std::getline(file, available);
    throw system_failure("use congestion control " + name + " (there are: " + available + ")",
                         error);
}

} // namespace

SocketOptions read_socket_options(Fields& request, bool tcp) {
    Fields fields = request.object("options");
    SocketOptions options;
    options.send_buffer_bytes =
        small(fields.optional_integer("send_buffer_bytes", 1, most_buffer_bytes));
    options.receive_buffer_bytes =
        small(fields.optional_integer("receive_buffer_bytes", 1, most_buffer_bytes));
    const std::string wait = fields.optional_text("wait", 8).value_or("block");
    if (wait != "block" && wait != "spin") {
        throw Failure("bad_request",
                      "request.options: wait is " + wait + ", expected block or spin");
    }
    options.spin = wait == "spin";
    options.cpu = small(fields.optional_integer("cpu", 0, 4095));
    options.no_delay = fields.optional_flag("no_delay");
    options.congestion_control =
        fields.optional_text("congestion_control", most_algorithm_characters);
    options.max_segment_bytes = small(fields.optional_integer("max_segment_bytes", 88, 65535));
    fields.finish();
    if (options.congestion_control && !is_algorithm_name(*options.congestion_control)) {
        throw Failure("bad_request", "request.options: congestion_control must be a name of "
                                     "lower-case letters, digits and underscores");
    }
    if (!tcp && (options.no_delay || options.congestion_control || options.max_segment_bytes)) {
        throw Failure("bad_request", "request.options: no_delay, congestion_control and "
                                     "max_segment_bytes are for tcp");
    }
    return options;
}

void apply_socket_options(int fd, const SocketOptions& options, bool tcp) {
    if (options.send_buffer_bytes) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, *options.send_buffer_bytes, "send_buffer_bytes");
    }
    if (options.receive_buffer_bytes) {
        set_option(fd, SOL_SOCKET, SO_RCVBUF, *options.receive_buffer_bytes,
                   "receive_buffer_bytes");
    }
    if (!tcp) {
        return;
    }
    if (options.no_delay) {
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, *options.no_delay ? 1 : 0, "no_delay");
    }
    if (options.max_segment_bytes) {
        set_option(fd, IPPROTO_TCP, TCP_MAXSEG, *options.max_segment_bytes, "max_segment_bytes");
    }
    if (options.congestion_control) {
        set_congestion_control(fd, *options.congestion_control);
    }
}

nlohmann::json obtained_options(int fd, bool tcp) {
    nlohmann::json values;
    values["send_buffer_bytes"] = get_option(fd, SOL_SOCKET, SO_SNDBUF);
    values["receive_buffer_bytes"] = get_option(fd, SOL_SOCKET, SO_RCVBUF);
    if (tcp) {
        values["no_delay"] = get_option(fd, IPPROTO_TCP, TCP_NODELAY) != 0;
        values["max_segment_bytes"] = get_option(fd, IPPROTO_TCP, TCP_MAXSEG);
        std::array<char, 16> algorithm{};
        socklen_t size = algorithm.size();
        if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(), &size) == 0) {
            algorithm.back() = '\0';
            values["congestion_control"] = algorithm.data();
        }
    }
    return values;
}

} // namespace sonde
