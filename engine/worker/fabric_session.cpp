#include "worker/fabric_session.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/failure.hpp"
#include "transport/libfabric/words.hpp"
#include "transport/socket/source.hpp"

namespace sonde {
namespace {

// What is on its way at once in a stream: enough for a fast network, and not more than its memory.
constexpr std::size_t most_at_once = 64;
constexpr std::size_t most_memory_at_once = 67'108'864;

} // namespace

FabricSession::FabricSession(Connections connections, const FabricOptions& options, int rank,
                             const Deadline& deadline)
    : options_(options), rank_(rank), interrupted_(deadline.interrupted()),
      control_(std::move(connections.control), interrupted_), meeting_(std::move(connections.test)),
      local_address_(SocketAddress::local_of(meeting_.fd()).address()),
      peer_address_(SocketAddress::peer_of(meeting_.fd()).address()),
      interface_(interface_of(meeting_.fd(), SocketAddress::peer_of(meeting_.fd()))),
      pinned_(options.cpu),
      endpoint_(options_, rank == origin_rank ? FabricRole::origin : FabricRole::target,
                local_address_, meeting_, deadline) {
    const std::size_t most =
        std::min(endpoint_.info().tx_attr->iov_limit, endpoint_.info().rx_attr->iov_limit);
    if (options_.parts > most) {
        throw Failure("unsupported", "provider " +
                                         std::string(endpoint_.info().fabric_attr->prov_name) +
                                         " takes messages of at most " + std::to_string(most) +
                                         " parts, not of " + std::to_string(options_.parts));
    }
    if (options_.endpoint == EndpointKind::dgram) {
        datagrams_ = std::make_unique<FabricDatagramInbox>(endpoint_);
    }
}

nlohmann::json FabricSession::opened() const {
    nlohmann::json values = endpoint_.facts();
    values["local_address"] = local_address_;
    values["peer_address"] = peer_address_;
    values["wait"] = options_.spin ? "spin" : "block";
    if (!interface_.empty()) {
        values["interface"] = interface_;
    }
    return values;
}

void FabricSession::check(const RunParameters& run) const {
    const bool paces = options_.endpoint == EndpointKind::dgram && run.test == Test::stream;
    if (run.test == Test::open_loop || run.rounds != 0 || (run.rate_bit_per_s != 0 && !paces) ||
        (run.start_at_ns != 0 && is_one_sided(options_))) {
        throw Failure("bad_request", "transport fabric carries latency, pingpong, stream and "
                                     "duplex, without rounds, with rate_bit_per_s only streams of "
                                     "endpoint dgram, and with start_at_ns only what both ends "
                                     "take part in");
    }
    if (run.test == Test::bounds) {
        check_bounds(run);
        return;
    }
    if (options_.trespass) {
        throw Failure("bad_request", "trespass is for bounds: it measures nothing");
    }
    check_operation(run);
    check_size(run);
}

void FabricSession::check_bounds(const RunParameters& run) {
    if (run.message_bytes == 0) {
        throw Failure("bad_request", "no memory cannot be registered: message_bytes must be at "
                                     "least 1");
    }
}

void FabricSession::check_operation(const RunParameters& run) const {
    const bool is_round_trip = run.test == Test::latency || run.test == Test::pingpong;
    if (is_one_sided(options_) && !is_round_trip) {
        throw Failure("bad_request", "operation " + std::string(word_of(options_.operation)) +
                                         " that is complete at its origin is for latency and "
                                         "pingpong");
    }
    const bool sends = options_.operation == FabricOperation::send;
    if (run.test == Test::duplex && (!sends || options_.endpoint == EndpointKind::dgram)) {
        throw Failure("bad_request", "duplex goes with operation send over endpoints msg and rdm");
    }
}

void FabricSession::check_size(const RunParameters& run) const {
    const bool sends = options_.operation == FabricOperation::send;
    if (!sends && run.message_bytes == 0) {
        throw Failure("bad_request", "nothing cannot be written or read: message_bytes must be at "
                                     "least 1");
    }
    if (options_.operation == FabricOperation::atomic && run.message_bytes != 8) {
        throw Failure("bad_request", "operation atomic adds to a number of 8 bytes: message_bytes "
                                     "must be 8");
    }
    const std::size_t injected = endpoint_.info().tx_attr->inject_size;
    if (options_.inject && run.message_bytes > injected) {
        throw Failure("bad_request", "a message of " + std::to_string(run.message_bytes) +
                                         " bytes is more than the " + std::to_string(injected) +
                                         " that provider " +
                                         endpoint_.info().fabric_attr->prov_name + " injects");
    }
    const std::size_t pieces = FabricPieces(endpoint_, options_, run.message_bytes).count;
    if (pieces > queued()) {
        throw Failure("bad_request", "a message of " + std::to_string(run.message_bytes) +
                                         " bytes would be cut into " + std::to_string(pieces) +
                                         " pieces, more than the " + std::to_string(queued()) +
                                         " that provider " +
                                         endpoint_.info().fabric_attr->prov_name + " queues");
    }
}

std::size_t FabricSession::queued() const {
    return std::min(endpoint_.info().tx_attr->size, endpoint_.info().rx_attr->size);
}

std::size_t FabricSession::at_once(const RunParameters& run) const {
    const std::size_t pieces = FabricPieces(endpoint_, options_, run.message_bytes).count;
    const std::size_t by_queue = std::max<std::size_t>(queued() / pieces, 1);
    if (run.test != Test::stream) {
        return std::min<std::size_t>(by_queue, 2);
    }
    const std::size_t by_memory = most_memory_at_once / std::max<std::size_t>(run.message_bytes, 1);
    return std::min(std::clamp<std::size_t>(by_memory, 2, most_at_once), by_queue);
}

FabricTraffic FabricSession::traffic_of(const RunParameters& run) const {
    FabricTraffic traffic{.message_bytes = run.message_bytes, .content = run.check_data};
    traffic.at_once = at_once(run);
    const bool only_sends = run.test == Test::stream && rank_ == origin_rank;
    traffic.receives = only_sends ? 0 : traffic.at_once;
    if (run.test == Test::latency || run.test == Test::pingpong) {
        traffic.messages = run.count;
    }
    return traffic;
}

template <class Wait>
Result FabricSession::run_waiting(const RunParameters& run, Timebase& timebase,
                                  const BatchHooks& hooks) {
    if (options_.endpoint == EndpointKind::dgram) {
        return run_datagrams<Wait>(run, timebase, hooks);
    }
    if (is_one_sided(options_)) {
        return run_remote_memory<Wait>(run, timebase, hooks);
    }
    return options_.operation == FabricOperation::write ? run_written<Wait>(run, timebase, hooks)
                                                        : run_sent<Wait>(run, timebase, hooks);
}

Result FabricSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    if (endpoint_.ep() == nullptr) {
        throw Failure("bad_request", "a run failed before; the transport has to be opened again");
    }
    ++batch_;
    if (run.test == Test::bounds) {
        return run_bounds(run, timebase, hooks);
    }
    return options_.spin ? run_waiting<FabricSpinning>(run, timebase, hooks)
                         : run_waiting<FabricSleeping>(run, timebase, hooks);
}

void FabricSession::interrupt() noexcept {
    control_.interrupt();
    meeting_.interrupt();
    endpoint_.leave_soon();
}

} // namespace sonde
