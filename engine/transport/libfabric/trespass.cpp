#include "transport/libfabric/trespass.hpp"

#include <rdma/fi_rma.h>

#include <array>
#include <cstddef>

#include "core/clock.hpp"
#include "core/payload.hpp"
#include "transport/libfabric/queue.hpp"

namespace sonde {
namespace {

constexpr std::int64_t patience_ns = 2'000'000'000;
constexpr std::uint64_t other_key = 0x5A5A5A5A; // differs from every key in several bits

struct Wanted {
    bool writes = false;
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

Wanted wanted_by(Trespass trespass, ExposedMemory& exposed) {
    const RemoteMemory there = exposed.other();
    switch (trespass) {
    case Trespass::foreign_write:
        return {true, there.address, there.key ^ other_key};
    case Trespass::foreign_read:
        return {false, there.address, there.key ^ other_key};
    case Trespass::beyond_write:
        return {true, there.address + exposed.own().size(), there.key};
    case Trespass::released_read:
        break;
    }
    return {false, there.address, there.key};
}

// Complete only where the other end has it, not where it has left this one.
ssize_t post(const FabricEndpoint& endpoint, const Wanted& wanted, std::span<std::byte> bytes,
             void* descriptor, FabricWork& work) {
    if (!wanted.writes) {
        return fi_read(endpoint.ep(), bytes.data(), bytes.size(), descriptor, endpoint.peer(),
                       wanted.address, wanted.key, &work.context);
    }
    iovec place{bytes.data(), bytes.size()};
    fi_rma_iov there{wanted.address, bytes.size(), wanted.key};
    const fi_msg_rma message{&place, &descriptor, 1, endpoint.peer(), &there, 1, &work.context, 0};
    return fi_writemsg(endpoint.ep(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

} // namespace

TrespassVerdict try_trespass(FabricEndpoint& endpoint, const MeetingPoint& meeting,
                             const FabricOptions& options, ExposedMemory& exposed,
                             std::uint64_t secret_seed, const std::atomic<bool>& interrupted) {
    FabricQueue queue(endpoint, meeting, interrupted);
    queue.keep_errors(true);
    const Wanted wanted = wanted_by(*options.trespass, exposed);
    Payload memory(exposed.own().size(), ~secret_seed);
    const FabricMemory local = endpoint.register_memory(memory.bytes(), false);
    FabricWork work;
    work.busy = true;
    const ssize_t posted = post(endpoint, wanted, memory.bytes(), local.descriptor(), work);
    if (posted != 0) {
        return {true, true, false, endpoint.library().why(static_cast<int>(posted))};
    }
    const std::int64_t end_ns = monotonic_ns() + patience_ns;
    while (work.busy && monotonic_ns() < end_ns) {
        queue.look();
    }
    const bool read = !wanted.writes && Payload::first_difference(memory.bytes(), secret_seed) < 0;
    if (work.busy) {
        endpoint.close(); // it must not look at this memory any more
        return {false, false, read, ""};
    }
    const bool refused = work.error != 0;
    return {refused, true, read, refused ? endpoint.library().why(work.error) : ""};
}

} // namespace sonde
