#include "collective/start.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string>

#include "collective/operation.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

constexpr std::size_t calls_before = 3;
// A rank that waits for longer than this lets others have its CPU.
constexpr std::int64_t yield_ns = 50'000;

std::uint64_t now(const Timebase& timebase) {
    return timebase.with_clock([](auto clock) { return clock.now(); });
}

std::int64_t highest(std::int64_t mine, MPI_Comm communicator) {
    std::int64_t found = 0;
    mpi::check(MPI_Allreduce(&mine, &found, 1, MPI_INT64_T, MPI_MAX, communicator),
               "agree on the windows");
    return found;
}

} // namespace

Starter::Starter(StartBy start, const WindowBounds& bounds, MPI_Comm communicator,
                 const Timebase& timebase, const LeadLine& lead, Operation& operation)
    : start_(start), communicator_(communicator), timebase_(timebase), lead_(lead), bounds_(bounds),
      late_after_ticks_(timebase.to_ticks(bounds.late_ns)) {
    if (start_ == StartBy::window) {
        try_out(operation);
    }
}

void Starter::try_out(Operation& operation) {
    std::int64_t longest_ns = 0;
    std::int64_t barrier_ns = 0;
    for (std::size_t i = 0; i < calls_before; ++i) {
        operation.before(i);
        const std::uint64_t enter = now(timebase_);
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        const std::uint64_t called = now(timebase_);
        mpi::check(operation.call()(operation.context()), "do the operation");
        const std::uint64_t leave = now(timebase_);
        [[maybe_unused]] const bool intact = operation.after(); // the measured ones are counted
        // Only the last counts: the first one opens connections, and windows would be far too long.
        longest_ns = static_cast<std::int64_t>(timebase_.duration_ns(leave - called));
        barrier_ns = static_cast<std::int64_t>(timebase_.duration_ns(called - enter));
    }
    longest_ns = highest(longest_ns, communicator_);
    plan_ = WindowPlan(longest_ns, highest(barrier_ns, communicator_), bounds_);
}

void Starter::await(std::size_t i) {
    switch (start_) {
    case StartBy::barrier:
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        return;
    case StartBy::window:
        if (i == end_) {
            agree_on_windows(i);
        }
        wait_for(i);
        return;
    case StartBy::none:
        return;
    }
}

std::uint64_t Starter::late_ticks(std::size_t i, std::uint64_t enter) const noexcept {
    const std::uint64_t begin = begin_of(i);
    return enter > begin ? enter - begin : 0;
}

void Starter::agree_on_windows(std::size_t i) {
    std::array<std::int64_t, 2> missed{missed_.late, missed_.first ? 1 : 0};
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, missed.data(), 2, MPI_INT64_T, MPI_MAX, communicator_),
               "agree on the windows");
    if (end_ > 0) {
        plan_.adapt({static_cast<int>(missed[0]), missed[1] != 0});
    }
    missed_ = {};
    first_ = i;
    end_ = i + static_cast<std::size_t>(plan_.at_once());
    // Everybody computes the same plan, but only rank 0 knows its clock.
    const std::uint64_t here = now(timebase_);
    const std::int64_t here_ns = timebase_.to_ns(here);
    std::int64_t begin_ns = here_ns + plan_.slack_ns();
    mpi::check(MPI_Bcast(&begin_ns, 1, MPI_INT64_T, 0, communicator_), "agree on the windows");
    const std::int64_t until_ns = lead_.own_ns(begin_ns) - here_ns;
    begin_ = here + timebase_.to_ticks(std::max<std::int64_t>(until_ns, 0));
    window_ticks_ = timebase_.to_ticks(plan_.ns());
}

void Starter::wait_for(std::size_t i) {
    const std::uint64_t instant = begin_of(i);
    timebase_.with_clock([&](auto clock) {
        std::uint64_t reading = clock.now();
        const std::uint64_t patience = timebase_.to_ticks(yield_ns);
        while (reading < instant) {
            if (instant - reading > patience) {
                ::sched_yield();
            }
            reading = clock.now();
        }
        // Also whoever lost its CPU while it waited.
        const bool late = reading - instant > late_after_ticks_;
        missed_.late += late ? 1 : 0;
        missed_.first = missed_.first || (late && i == first_);
    });
}

} // namespace sonde::collective
