#include "transport/socket/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t most_buffer_bytes = 1'073'741'824;
constexpr std::int64_t most_datagrams_per_call = 128;
constexpr std::int64_t most_asks = 1000;
constexpr std::int64_t most_pacing = 1'000'000'000'000;
constexpr std::int64_t most_busy_poll_us = 1'000'000;
constexpr std::size_t most_path_characters = 4096;
constexpr std::size_t most_algorithm_characters = 15;
constexpr std::size_t most_address_characters = 64;
constexpr std::size_t most_interface_characters = 15;

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

// Multipath TCP has none.
std::optional<int> window_clamp_of(int fd) {
    int value = 0;
    socklen_t size = sizeof value;
    const bool known = ::getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, &size) == 0;
    return known ? std::optional(value) : std::nullopt;
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

template <class Value, std::size_t size>
Value read_choice(Fields& fields, const std::string& name,
                  const std::array<std::pair<std::string_view, Value>, size>& choices) {
    const std::string given =
        fields.optional_text(name, 16).value_or(std::string(choices.front().first));
    std::string known;
    for (const auto& [word, value] : choices) {
        if (given == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw Failure("bad_request",
                  "request.options: " + name + " is " + given + ", expected one of " + known);
}

// The first of each is the usual one.
constexpr std::array<std::pair<std::string_view, Waiting>, 3> waitings{
    {{"block", Waiting::block}, {"spin", Waiting::spin}, {"ready", Waiting::ready}}};
constexpr std::array<std::pair<std::string_view, SendingWay>, 4> sendings{
    {{"copy", SendingWay::copy},
     {"sendfile", SendingWay::sendfile},
     {"zerocopy", SendingWay::zerocopy},
     {"uring", SendingWay::uring}}};

// TCP paces itself where no queueing discipline does it; the kernel counts in bytes.
void set_pacing(int fd, std::int64_t bit_per_s) {
    const std::uint64_t byte_per_s = static_cast<std::uint64_t>(bit_per_s) / 8;
    if (::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &byte_per_s, sizeof byte_per_s) != 0) {
        throw system_failure("set pacing_bit_per_s to " + std::to_string(bit_per_s));
    }
}

std::uint64_t pacing_of(int fd) {
    std::uint64_t byte_per_s = 0;
    socklen_t size = sizeof byte_per_s;
    if (::getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &byte_per_s, &size) != 0) {
        throw system_failure("read a socket option");
    }
    return byte_per_s;
}

bool is_ipv6(int fd) { return get_option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6; }

void set_traffic_class(int fd, int value) {
    if (is_ipv6(fd)) {
        set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, value, "traffic_class");
    } else {
        set_option(fd, IPPROTO_IP, IP_TOS, value, "traffic_class");
    }
}

int traffic_class_of(int fd) {
    return is_ipv6(fd) ? get_option(fd, IPPROTO_IPV6, IPV6_TCLASS)
                       : get_option(fd, IPPROTO_IP, IP_TOS);
}

// False for a plain TCP socket, and for one that fell back because the peer does not speak it.
bool speaks_multipath(int fd) {
    constexpr int level_mptcp = 284;   // SOL_MPTCP, not in every libc's headers
    constexpr int option_tcp_info = 2; // MPTCP_TCPINFO fails after a fallback
    std::array<std::byte, 1024> answer{};
    const std::array<std::uint32_t, 4> wanted{sizeof wanted, 0, 0, 0};
    std::memcpy(answer.data(), wanted.data(), sizeof wanted);
    socklen_t size = answer.size();
    return ::getsockopt(fd, level_mptcp, option_tcp_info, answer.data(), &size) == 0;
}

} // namespace

SocketOptions read_socket_options(Fields& request, bool tcp) {
    Fields fields = request.object("options");
    SocketOptions options;
    options.send_buffer_bytes =
        small(fields.optional_integer("send_buffer_bytes", 1, most_buffer_bytes));
    options.receive_buffer_bytes =
        small(fields.optional_integer("receive_buffer_bytes", 1, most_buffer_bytes));
    options.wait = read_choice(fields, "wait", waitings);
    options.cpu = small(fields.optional_integer("cpu", 0, 4095));
    options.source_address = fields.optional_text("source_address", most_address_characters);
    options.interface = fields.optional_text("interface", most_interface_characters);
    options.no_delay = fields.optional_flag("no_delay");
    options.congestion_control =
        fields.optional_text("congestion_control", most_algorithm_characters);
    options.max_segment_bytes = small(fields.optional_integer("max_segment_bytes", 88, 65535));
    options.sending = read_choice(fields, "sending", sendings);
    options.file = fields.optional_text("file", most_path_characters);
    options.cork = fields.optional_flag("cork");
    options.not_sent_low_bytes =
        small(fields.optional_integer("not_sent_low_bytes", 1, most_buffer_bytes));
    options.window_clamp_bytes =
        small(fields.optional_integer("window_clamp_bytes", 1, most_buffer_bytes));
    options.traffic_class = small(fields.optional_integer("traffic_class", 0, 255));
    options.pacing_bit_per_s = fields.optional_integer("pacing_bit_per_s", 1'000, most_pacing);
    options.busy_poll_us = small(fields.optional_integer("busy_poll_us", 0, most_busy_poll_us));
    options.multipath = fields.flag("multipath", false);
    const auto per_call = fields.optional_integer("datagrams_per_call", 1, most_datagrams_per_call);
    options.datagrams_per_call = static_cast<std::size_t>(per_call.value_or(1));
    options.segment_offload = fields.flag("segment_offload", false);
    options.asks_before_sleep = small(fields.optional_integer("asks_before_sleep", 0, most_asks));
    options.kernel_times = fields.flag("kernel_times", false);
    options.depth = fields.flag("depth", false);
    options.authenticated = fields.flag("authenticated", false);
    fields.finish();
    if (options.congestion_control && !is_algorithm_name(*options.congestion_control)) {
        throw Failure("bad_request", "request.options: congestion_control must be a name of "
                                     "lower-case letters, digits and underscores");
    }
    const bool of_tcp = options.no_delay || options.congestion_control ||
                        options.max_segment_bytes || options.cork || options.not_sent_low_bytes ||
                        options.window_clamp_bytes || options.multipath ||
                        options.pacing_bit_per_s || options.sending != SendingWay::copy;
    if (!tcp && of_tcp) {
        throw Failure("bad_request",
                      "request.options: no_delay, congestion_control, max_segment_bytes, cork, "
                      "not_sent_low_bytes, window_clamp_bytes, pacing_bit_per_s, multipath, "
                      "sendfile, zerocopy and uring are for tcp");
    }
    if (options.sending != SendingWay::copy && options.wait != Waiting::block) {
        throw Failure("bad_request",
                      "request.options: sendfile, zerocopy and uring go with wait block, not "
                      "with spin or ready");
    }
    if (options.file && options.sending != SendingWay::sendfile) {
        throw Failure("bad_request", "request.options: file goes with sending sendfile");
    }
    if (options.kernel_times && (options.sending != SendingWay::copy || options.multipath)) {
        throw Failure("bad_request", "request.options: kernel_times are of plain sending; they do "
                                     "not go with sendfile, zerocopy, uring or multipath");
    }
    if (tcp && (per_call || options.segment_offload || options.asks_before_sleep)) {
        throw Failure("bad_request", "request.options: datagrams_per_call, segment_offload and "
                                     "asks_before_sleep are for udp");
    }
    if (options.segment_offload && options.datagrams_per_call == 1) {
        throw Failure("bad_request", "request.options: segment_offload needs datagrams_per_call of "
                                     "2 or more");
    }
    return options;
}

int stream_protocol(const SocketOptions& options) noexcept {
    constexpr int multipath_tcp = 262; // IPPROTO_MPTCP, not in every libc's headers
    return options.multipath ? multipath_tcp : 0;
}

void apply_socket_options(int fd, const SocketOptions& options, bool tcp) {
    if (options.send_buffer_bytes) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, *options.send_buffer_bytes, "send_buffer_bytes");
    }
    if (options.receive_buffer_bytes) {
        set_option(fd, SOL_SOCKET, SO_RCVBUF, *options.receive_buffer_bytes,
                   "receive_buffer_bytes");
    }
    if (options.traffic_class) {
        set_traffic_class(fd, *options.traffic_class);
    }
    if (options.busy_poll_us) {
        set_option(fd, SOL_SOCKET, SO_BUSY_POLL, *options.busy_poll_us, "busy_poll_us");
    }
    if (!tcp) {
        return;
    }
    if (options.pacing_bit_per_s) {
        set_pacing(fd, *options.pacing_bit_per_s);
    }
    if (options.cork) {
        set_option(fd, IPPROTO_TCP, TCP_CORK, *options.cork ? 1 : 0, "cork");
    }
    if (options.not_sent_low_bytes) {
        set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, *options.not_sent_low_bytes,
                   "not_sent_low_bytes");
    }
    if (options.window_clamp_bytes) {
        set_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, *options.window_clamp_bytes,
                   "window_clamp_bytes");
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
    values["traffic_class"] = traffic_class_of(fd);
    if (tcp) {
        values["cork"] = get_option(fd, IPPROTO_TCP, TCP_CORK) != 0;
        if (const auto clamp = window_clamp_of(fd)) {
            values["window_clamp_bytes"] = *clamp;
        }
        values["multipath"] = speaks_multipath(fd);
        if (const std::uint64_t byte_per_s = pacing_of(fd); byte_per_s < most_pacing / 8) {
            values["pacing_bit_per_s"] = byte_per_s * 8;
        }
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
