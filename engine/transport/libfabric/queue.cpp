#include "transport/libfabric/queue.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::array lost_by{FI_ECONNRESET, FI_ECONNABORTED, FI_ENOTCONN,
                             FI_ESHUTDOWN,  FI_EHOSTUNREACH, FI_ECANCELED};

bool is_loss(int error) { return std::ranges::find(lost_by, error) != lost_by.end(); }

} // namespace

void FabricQueue::check_alive() const {
    if (interrupted_) {
        throw Failure("timeout", "while waiting for a completion of the fabric");
    }
    if (meeting_.is_lost()) {
        throw Failure("peer_lost", "the other end is gone");
    }
}

// The other end may need this CPU: without it each message would take a slice of the scheduler's.
void FabricQueue::give_way() {
    check_alive();
    ++gave_way_;
    ::sched_yield();
}

// What a completion with an error says; the work that it names is over.
void FabricQueue::fail(ssize_t error) {
    fi_cq_err_entry entry{};
    if (error != -FI_EAVAIL || fi_cq_readerr(cq_, &entry, 0) < 0) {
        throw Failure("system", "the fabric's completions cannot be read: " +
                                    endpoint_.library().why(static_cast<int>(error)));
    }
    auto* const work = static_cast<FabricWork*>(entry.op_context);
    if (work != nullptr) {
        work->busy = false;
        work->error = entry.err;
        work->bytes = entry.len;
    }
    if (keeps_errors_ && work != nullptr) {
        return;
    }
    if (interrupted_) {
        throw Failure("timeout", "while waiting for a completion of the fabric");
    }
    throw Failure(is_loss(entry.err) ? "peer_lost" : "system",
                  "the fabric did not do what it was asked: " + endpoint_.library().why(entry.err));
}

} // namespace sonde
