#include "worker/echo_session.hpp"

#include <sys/socket.h>

#include <memory>

#include "core/failure.hpp"
#include "test/alone.hpp"
#include "test/round_trip.hpp"
#include "transport/socket/echo_path.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/source.hpp"
#include "transport/socket/waits.hpp"

namespace sonde {

EchoParameters read_echo_parameters(Fields& fields) {
    const Family family = read_family(fields);
    const std::string address = fields.text("address", 64);
    EchoParameters parameters{SocketAddress(family, address, 0),
                              read_socket_options(fields, false)};
    fields.finish();
    const SocketOptions& options = parameters.options;
    if (options.send_buffer_bytes || options.receive_buffer_bytes ||
        options.datagrams_per_call != 1 || options.segment_offload || options.kernel_times ||
        options.depth) {
        throw Failure("bad_request", "request.options: echoes take traffic_class, busy_poll_us, "
                                     "source_address, interface, wait and cpu only");
    }
    return parameters;
}

EchoSession::EchoSession(const EchoParameters& parameters, const std::atomic<bool>& interrupted)
    : parameters_(parameters), interrupted_(interrupted),
      socket_(parameters.target, parameters.options),
      interface_(interface_of(socket_.fd(), parameters.target)), pinned_(parameters.options.cpu) {
    set_patience(socket_.fd(), datagram_patience_ns);
}

nlohmann::json EchoSession::opened() const {
    nlohmann::json values = obtained_options(socket_.fd(), false);
    values["local_address"] = SocketAddress::local_of(socket_.fd()).address();
    values["peer_address"] = parameters_.target.address();
    values["raw_socket"] = socket_.is_raw();
    if (!interface_.empty()) {
        values["interface"] = interface_;
    }
    return values;
}

void EchoSession::check(const RunParameters& run) const {
    if (run.test != Test::latency) {
        throw Failure("bad_request", "ICMP echoes are for test latency: the target's kernel sends "
                                     "back what it gets, and does nothing else");
    }
    if (run.rate_bit_per_s != 0 || run.start_at_ns != 0 || run.settle_ns != 0) {
        throw Failure("bad_request", "ICMP echoes follow each other: leave out rate_bit_per_s, "
                                     "settle_ns and start_at_ns");
    }
    require_datagram(parameters_.target.domain(), run.message_bytes); // headers of the same length
}

template <class Wait>
Result EchoSession::run_waiting(const RunParameters& run, Timebase& timebase,
                                const BatchHooks& hooks) {
    EchoPath<Wait> path(socket_.fd(), socket_.echoes(), interrupted_);
    RoundTripOrigin<EchoPath<Wait>> end(run);
    path.drain();
    Start start;
    start.batch = ++batch_;
    Result result =
        play_alone(path, start, timebase, hooks,
                   [&]<class Clock>(EchoPath<Wait>& on, Clock /*clock*/, const Start& from) {
                       end.template play<Clock>(on, from);
                   });
    result.count("calls_received", path.calls_received());
    end.report(result, timebase);
    return result;
}

Result EchoSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    switch (parameters_.options.wait) {
    case Waiting::spin:
        return run_waiting<SpinningWait>(run, timebase, hooks);
    case Waiting::ready:
        return run_waiting<ReadinessWait>(run, timebase, hooks);
    case Waiting::block:
        break;
    }
    return run_waiting<BlockingWait>(run, timebase, hooks);
}

OwnTraffic EchoSession::own_traffic() const { return {{}, interface_}; }

void EchoSession::interrupt() noexcept { ::shutdown(socket_.fd(), SHUT_RDWR); }

Opening<Session> read_echoes(Fields& fields) {
    const EchoParameters parameters = read_echo_parameters(fields);
    return {.make = [parameters](const std::atomic<bool>& interrupted) {
        return std::make_unique<EchoSession>(parameters, interrupted);
    }};
}

} // namespace sonde
