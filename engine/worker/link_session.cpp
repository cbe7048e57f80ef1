#include "worker/link_session.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/failure.hpp"
#include "test/run_test.hpp"
#include "transport/link/packet_socket.hpp"
#include "transport/link/raw_path.hpp"
#include "transport/link/reliable_path.hpp"
#include "transport/socket/source.hpp"
#include "transport/socket/tcp_info.hpp"
#include "worker/greeted_end.hpp"

namespace sonde {
namespace {

constexpr std::size_t most_message_bytes = 1U << 20U; // its fragments lie in a driver's slots

const char* name_of(protocol::Event event) noexcept {
    switch (event) {
    case protocol::Event::pack:
        return "events_pack";
    case protocol::Event::nack:
        return "events_nack";
    case protocol::Event::time_out:
        break;
    }
    return "events_time_out";
}

// As a simulation has them: what an end that sends went through, equal events in a row as one.
void report_events(const protocol::Log& log, Result& result) {
    Result::Series targets{"event_target", "count", {}}; // of which there is one
    Result::Series kinds{"event_kind", "count", {}};
    Result::Series counts{"event_count", "count", {}};
    Result::Series instants{"event_ns", "ns", {}};
    for (const char* const name : {"events_pack", "events_nack", "events_time_out"}) {
        result.counters[name] = 0;
    }
    for (const protocol::EventRun& run : log.runs()) {
        targets.values.push_back(0);
        kinds.values.push_back(static_cast<std::int64_t>(run.event));
        counts.values.push_back(run.count);
        instants.values.push_back(run.at);
        result.counters[name_of(run.event)] += run.count;
    }
    result.count("state_changes", log.moves().size());
    result.series.insert(result.series.end(), {targets, kinds, counts, instants});
}

} // namespace

LinkSession::LinkSession(Connections connections, const LinkOptions& options, int rank,
                         const Deadline& deadline)
    : options_(options), rank_(rank), interrupted_(deadline.interrupted()),
      control_(std::move(connections.control), interrupted_), beside_(std::move(connections.test)),
      local_address_(SocketAddress::local_of(beside_.get()).address()),
      peer_address_(SocketAddress::peer_of(beside_.get()).address()),
      device_(LinkDevice::of(interface_of(beside_.get(), SocketAddress::peer_of(beside_.get())))),
      pinned_(options.cpu), port_(open_port()) {
    const LinkCard own{{device_.address, number_.value().first}, own_fragment_bytes()};
    const LinkCard other = exchange_cards(control_, own, deadline);
    fragment_bytes_ = std::min(own.fragment_bytes, other.fragment_bytes);
    port_.point(0, other.partner);
    greet(port_, control_, deadline);
    if (options_.reliable) {
        channel_.emplace(port_, 0, *options_.reliable, fragment_bytes_);
    }
}

std::size_t LinkSession::own_fragment_bytes() const {
    return fragment_bytes_on(device_, options_.fragment_bytes);
}

LinkPort LinkSession::open_port() const {
    return open_port_of(options_.driver, device_, number_.value(), own_fragment_bytes());
}

nlohmann::json LinkSession::opened() const {
    nlohmann::json values{{"local_address", local_address_},
                          {"peer_address", peer_address_},
                          {"interface", device_.name},
                          {"driver", std::string(word_of(options_.driver))},
                          {"driver_mode", std::string(port_.driver().mode())},
                          {"wait", std::string(word_of(options_.wait))},
                          {"fragment_bytes", fragment_bytes_},
                          {"endpoint_number", number_.value().first},
                          {"reliable", options_.reliable.has_value()}};
    if (options_.reliable) {
        const protocol::SendRules& rules = options_.reliable->sends;
        values["window_packets"] = rules.window_packets;
        values["timeout_ns"] = rules.timeout;
        values["simple_go_back_n"] = !rules.nacks;
        values["acknowledge"] = std::string(word_of(options_.reliable->answers.way));
    }
    return values;
}

void LinkSession::check(const RunParameters& run) const {
    if (run.test == Test::bounds || run.test == Test::open_loop) {
        throw Failure("bad_request", "transport link carries latency, pingpong, stream and duplex");
    }
    const bool meets = !run.meeting.name.empty();
    if (run.rounds != 0 && meets != (rank_ == target_rank)) {
        throw Failure("bad_request", meets ? "a meeting is for the target of rounds"
                                           : "the target of rounds needs a meeting");
    }
    if (options_.reliable && (run.rate_bit_per_s != 0 || run.message_bytes == 0)) {
        throw Failure("bad_request", "messages that are sent again go as fast as they are "
                                     "acknowledged, and have a content: rate_bit_per_s is for raw "
                                     "ones, message_bytes must be at least 1");
    }
    if (run.message_bytes > most_message_bytes) {
        throw Failure("bad_request", "a message of " + std::to_string(run.message_bytes) +
                                         " bytes is more than the " +
                                         std::to_string(most_message_bytes) +
                                         " that fit into the frames of a driver");
    }
    if (run.rate_bit_per_s != 0 && run.message_bytes == 0) {
        throw Failure("bad_request", "empty messages carry no bits: leave out rate_bit_per_s, or "
                                     "ask for message_bytes of at least 1");
    }
}

Result LinkSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    ++batch_;
    Result result = channel_ ? run_reliable(run, timebase, hooks) : run_raw(run, timebase, hooks);
    if (run.rounds > 1) { // each had a number of its own
        batch_ += static_cast<std::uint32_t>(run.rounds - 1);
    }
    return result;
}

Result LinkSession::run_raw(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    LinkRawPath path(port_, options_.wait, fragment_bytes_, beside_.get(), interrupted_);
    return run_test(path, control_, rank_, batch_, run, timebase, hooks);
}

// Behind the batch both ends wait until everything has arrived, so that nothing of it is under way
// in the next one.
Result LinkSession::run_reliable(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks) {
    LinkReliablePath path(port_, *channel_, options_.wait, beside_.get(), interrupted_);
    LinkControl control(control_, path);
    Result result = run_test(path, control, rank_, batch_, run, timebase, hooks);
    path.settle();
    control.send(Frame{Frame::Kind::ready});
    static_cast<void>(control.expect(Frame::Kind::ready));
    report_events(path.log(), result);
    return result;
}

OwnTraffic LinkSession::own_traffic() const {
    const int control = control_.fd();
    return {[control] {
                CounterValues values;
                for (const auto& [name, value] : connection_counters(TcpInfo::of(control))) {
                    values["connection.control." + name] = value;
                }
                return values;
            },
            device_.name};
}

void LinkSession::interrupt() noexcept {
    control_.interrupt();
    ::shutdown(beside_.get(), SHUT_RDWR);
}

namespace {

constexpr GreetedOptions<LinkOptions> as_asked{
    [](Fields& request) { return read_link_options(request); },
    [](const LinkOptions& /*options*/) { return false; },
    require_frames}; // where they are not allowed, nobody needs to connect

} // namespace

Opening<ListeningEnd> read_link_listen(Fields& fields) {
    return read_greeted_listen<LinkSession>(fields, as_asked);
}

Opening<Session> read_link_connect(Fields& fields) {
    return read_greeted_connect<LinkSession>(fields, as_asked);
}

} // namespace sonde
