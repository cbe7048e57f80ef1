#include "worker/socket_session.hpp"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "core/failure.hpp"
#include "test/sequence.hpp"
#include "transport/socket/datagram_counters.hpp"
#include "transport/socket/kernel_times.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/source.hpp"
#include "transport/socket/tcp_info.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/uring.hpp"

namespace sonde {
namespace {

// Some 90 bytes are kept of each until the batch is over.
constexpr std::uint64_t most_stamped_messages = 1ULL << 20U;

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
      interrupted_(interrupted), admission_(connections.admission), seal_(connections.seal),
      control_(std::move(connections.control), interrupted, seal_in(seal_)),
      test_(std::move(connections.test)),
      interface_(interface_of(test_.get(), SocketAddress::peer_of(test_.get()))),
      pinned_(options_.cpu) {
    if (kind_ == SocketKind::udp) {
        set_patience(test_.get(), datagram_patience_ns);
    } else {
        reset_on_close(test_.get());
    }
    stamped_ = options_.kernel_times && stamp_arrivals(test_.get());
}

nlohmann::json SocketSession::opened() const {
    nlohmann::json values = obtained_options(test_.get(), kind_ == SocketKind::tcp);
    const SocketAddress local = SocketAddress::local_of(test_.get());
    const SocketAddress peer = SocketAddress::peer_of(test_.get());
    values["local_address"] = local.address();
    values["local_port"] = local.port();
    values["peer_address"] = peer.address();
    values["peer_port"] = peer.port();
    if (options_.kernel_times) {
        values["kernel_times"] = stamped_;
    }
    if (!interface_.empty()) {
        values["interface"] = interface_;
    }
    return values;
}

void SocketSession::check(const RunParameters& run) const {
    if (run.test == Test::bounds) {
        throw Failure("bad_request", "test bounds is for transports that are told of memory; "
                                     "sockets are not");
    }
    if (kind_ == SocketKind::tcp && run.message_bytes == 0) {
        throw Failure("bad_request", "TCP carries no empty messages: message_bytes must be at "
                                     "least 1");
    }
    const bool paced = run.rate_bit_per_s != 0 && run.test != Test::open_loop;
    if (kind_ == SocketKind::tcp && paced) {
        throw Failure("bad_request",
                      "rate_bit_per_s is for udp and open_loop: a stream of TCP paces "
                      "itself");
    }
    check_rounds(run);
    check_datagrams_per_call(run);
    check_kernel_times(run);
    check_room_for_tags(run);
    if (kind_ == SocketKind::udp) {
        require_datagram(SocketAddress::local_of(test_.get()).domain(), run.message_bytes);
    }
    if (kind_ == SocketKind::udp && run.rate_bit_per_s != 0 && run.message_bytes == 0) {
        throw Failure("bad_request", "empty datagrams carry no bits: leave out rate_bit_per_s, or "
                                     "ask for message_bytes of at least 1");
    }
}

void SocketSession::check_rounds(const RunParameters& run) const {
    const bool meets = !run.meeting.name.empty();
    if (run.rounds != 0 && meets != (rank_ == 1)) {
        throw Failure("bad_request", meets ? "a meeting is for the target of rounds"
                                           : "the target of rounds needs a meeting");
    }
}

void SocketSession::check_datagrams_per_call(const RunParameters& run) const {
    if (options_.datagrams_per_call == 1) {
        return;
    }
    if (run.test != Test::stream && run.test != Test::duplex) {
        throw Failure("bad_request", "datagrams_per_call is for stream and duplex: in this test "
                                     "each datagram waits for an answer");
    }
    if (run.rate_bit_per_s != 0) {
        throw Failure("bad_request", "datagrams_per_call and rate_bit_per_s do not go together: a "
                                     "paced datagram leaves at its own time");
    }
    if (run.message_bytes == 0) {
        throw Failure("bad_request", "empty datagrams cannot be sent by the dozen: message_bytes "
                                     "must be at least 1");
    }
}

void SocketSession::check_kernel_times(const RunParameters& run) const {
    if (!options_.kernel_times) {
        return;
    }
    if (run.test != Test::latency && run.test != Test::pingpong) {
        throw Failure("bad_request", "kernel_times are for latency and pingpong: of the stages of "
                                     "other tests nothing can be said message by message");
    }
    if (run.count > most_stamped_messages) {
        throw Failure("bad_request", "kernel_times take a count of at most " +
                                         std::to_string(most_stamped_messages));
    }
    if (kind_ == SocketKind::udp && run.message_bytes < SequenceNumber::bytes) {
        throw Failure("bad_request", "kernel_times need datagrams with room for their number: "
                                     "message_bytes must be at least 8");
    }
}

void SocketSession::check_room_for_tags(const RunParameters& run) const {
    if (seal_ && kind_ == SocketKind::udp && run.message_bytes < Seal::header_bytes) {
        throw Failure("bad_request", "authenticated datagrams need room for their number and its "
                                     "tag: message_bytes must be at least " +
                                         std::to_string(Seal::header_bytes));
    }
}

Result SocketSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    ++batch_;
    Result result = kind_ == SocketKind::tcp ? run_tcp(run, timebase, hooks)
                    : seal_                  ? run_sealed_udp(run, timebase, hooks)
                                             : run_udp(run, timebase, hooks);
    if (run.rounds > 1) { // each had a number of its own
        batch_ += static_cast<std::uint32_t>(run.rounds - 1);
    }
    return result;
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
                for (const auto& [name, value] : datagram_counters(test)) {
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

std::optional<TestSockets> SocketSession::sockets() const {
    return TestSockets{test_.get(), control_.fd()};
}

namespace {

class SocketListener final : public ListeningEnd {
public:
    SocketListener(ListenParameters parameters, const std::atomic<bool>& interrupted)
        : listener_(std::move(parameters)), interrupted_(interrupted) {}

    [[nodiscard]] nlohmann::json listening() const override { return {{"port", listener_.port()}}; }
    [[nodiscard]] std::unique_ptr<Session> accept(std::int64_t timeout_ns) override {
        return std::make_unique<SocketSession>(listener_.accept(Deadline(timeout_ns, interrupted_)),
                                               target_rank, interrupted_);
    }
    void interrupt() noexcept override { listener_.interrupt(); }

private:
    Listener listener_;
    const std::atomic<bool>& interrupted_;
};

Admission read_admission(Fields& fields) {
    Admission admission{parse_cookie(fields.text("cookie", 32))};
    if (const auto key = fields.optional_text("key", 64)) {
        admission.key = parse_seal_key(*key);
    }
    return admission;
}

void require_key(const SocketOptions& options, const Admission& admission) {
    if (options.authenticated != admission.key.has_value()) {
        throw Failure("bad_request", "request: a key and the option authenticated go together");
    }
}

} // namespace

template <SocketKind kind>
Opening<ListeningEnd> read_socket_listen(Fields& fields) {
    ListenParameters parameters;
    parameters.kind = kind;
    parameters.family = read_family(fields);
    parameters.admission = read_admission(fields);
    const auto port =
        static_cast<std::uint16_t>(fields.optional_integer("port", 0, 65535).value_or(0));
    const auto address = fields.optional_text("address", 64);
    parameters.address = address ? SocketAddress(parameters.family, *address, port)
                                 : SocketAddress::any(parameters.family, port);
    if (const auto allowed = fields.optional_text("allow_address", 64)) {
        parameters.allow = SocketAddress(parameters.family, *allowed, 0);
    }
    parameters.options = read_socket_options(fields, kind == SocketKind::tcp);
    require_key(parameters.options, parameters.admission);
    parameters.timeout_ns = take_timeout(fields);
    fields.finish();
    require_uring(parameters.options);
    return {parameters.options.depth, parameters.timeout_ns,
            [parameters](const std::atomic<bool>& interrupted) {
                return std::make_unique<SocketListener>(parameters, interrupted);
            }};
}

template <SocketKind kind>
Opening<Session> read_socket_connect(Fields& fields) {
    ConnectParameters parameters;
    parameters.kind = kind;
    const Family family = read_family(fields);
    parameters.admission = read_admission(fields);
    const std::string address = fields.text("address", 64);
    parameters.target = SocketAddress(family, address,
                                      static_cast<std::uint16_t>(fields.integer("port", 0, 65535)));
    parameters.options = read_socket_options(fields, kind == SocketKind::tcp);
    require_key(parameters.options, parameters.admission);
    const std::int64_t timeout_ns = take_timeout(fields);
    fields.finish();
    require_uring(parameters.options);
    return {parameters.options.depth, timeout_ns,
            [parameters, timeout_ns](const std::atomic<bool>& interrupted) {
                return std::make_unique<SocketSession>(
                    connect_to_target(parameters, Deadline(timeout_ns, interrupted)), origin_rank,
                    interrupted);
            }};
}

template Opening<ListeningEnd> read_socket_listen<SocketKind::tcp>(Fields& fields);
template Opening<ListeningEnd> read_socket_listen<SocketKind::udp>(Fields& fields);
template Opening<Session> read_socket_connect<SocketKind::tcp>(Fields& fields);
template Opening<Session> read_socket_connect<SocketKind::udp>(Fields& fields);

} // namespace sonde
