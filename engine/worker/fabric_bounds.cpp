// What limits a path over libfabric: the cost of telling it of memory, and memory of the other end
// that is none of this one's business.
#include <algorithm>
#include <cstring>

#include "test/registrations.hpp"
#include "transport/libfabric/trespass.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {

// Both ends take part: the target has the memory, and lets its provider go on.
Result FabricSession::run_bounds(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks) {
    Result result;
    hooks.before();
    result.counters["start_ns"] = monotonic_ns();
    if (options_.trespass) {
        trespass(run, result);
    } else if (rank_ == origin_rank) {
        time_registrations(
            run, timebase, [this](auto memory) { return endpoint_.register_memory(memory, false); },
            result);
        say_sent(control_, {run.count, 0, EndedBy::count});
    } else {
        (void)hear_sent(control_);
    }
    result.counters["end_ns"] = monotonic_ns();
    hooks.after();
    return result;
}

void FabricSession::trespass(const RunParameters& run, Result& result) {
    const std::uint64_t secret_seed = ~run.seed;
    ExposedMemory exposed(endpoint_, meeting_, run.message_bytes, deadline_of(run),
                          run.message_bytes);
    Payload::write(exposed.own(), secret_seed);
    std::memset(exposed.all().data() + exposed.own().size(), 0, run.message_bytes);
    if (rank_ == target_rank) {
        suffer(exposed, secret_seed, result);
        return;
    }
    (void)hear_received(control_);
    const TrespassVerdict verdict =
        try_trespass(endpoint_, meeting_, options_, exposed, secret_seed, interrupted_);
    say_sent(control_, {1, 0, EndedBy::count});
    result.count("attempts", 1);
    result.count("refused", verdict.refused ? 1 : 0);
    result.count("unanswered", verdict.answered ? 0 : 1);
    result.count("reached", verdict.read ? 1 : 0);
    result.words["refused_because"] = verdict.why;
}

// At the target: memory is tried until the origin says that it has.
void FabricSession::suffer(ExposedMemory& exposed, std::uint64_t secret_seed, Result& result) {
    if (options_.trespass == Trespass::released_read) {
        exposed.release();
    }
    FabricQueue queue(endpoint_, meeting_, interrupted_);
    queue.keep_errors(true);
    say_received(control_, {}); // from here on it may be tried
    while (!control_.arrived()) {
        queue.look();
    }
    (void)hear_sent(control_);
    const auto closed = exposed.all().subspan(exposed.own().size());
    const bool is_whole = Payload::first_difference(exposed.own(), secret_seed) < 0 &&
                          std::ranges::all_of(closed, [](std::byte b) { return b == std::byte{}; });
    result.count("reached", is_whole ? 0 : 1);
}

} // namespace sonde
