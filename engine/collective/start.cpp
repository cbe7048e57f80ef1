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
// A window leaves the ranks this much time besides the longest call, for the way into the wait.
constexpr std::int64_t least_window_ns = 5'000;
constexpr std::int64_t most_window_ns = 10'000'000'000;
constexpr std::int64_t most_growth = 16;
// Ranks learn of the first window by a broadcast; it must have reached all of them.
constexpr std::int64_t least_slack_ns = 100'000;
// A rank that waits for longer than this lets others have its processor.
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

WindowLength::WindowLength(std::int64_t longest_call_ns) noexcept
    : ns_(std::clamp(2 * longest_call_ns, least_window_ns, most_window_ns)),
      most_ns_(std::min(most_growth * ns_, most_window_ns)) {}

void WindowLength::adapt(int late, int windows) noexcept {
    constexpr int tolerated = 16; // one window of so many may be missed
    if (late * tolerated > windows) {
        ns_ = std::min(2 * ns_, most_ns_);
    } else if (late == 0) {
        ns_ = std::max(ns_ - ns_ / 8, least_window_ns);
    }
}

Starter::Starter(StartBy start, MPI_Comm communicator, const Timebase& timebase,
                 const LeadLine& lead, Operation& operation)
    : start_(start), communicator_(communicator), timebase_(timebase), lead_(lead) {
    if (start_ == StartBy::window) {
        try_out(operation);
    }
}

void Starter::try_out(Operation& operation) {
    std::int64_t longest_ns = 0;
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
        slack_ns_ = static_cast<std::int64_t>(timebase_.duration_ns(called - enter));
    }
    length_ = WindowLength(highest(longest_ns, communicator_));
    slack_ns_ = std::max(least_slack_ns, 4 * highest(slack_ns_, communicator_));
}

void Starter::await(std::size_t i) {
    switch (start_) {
    case StartBy::barrier:
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        return;
    case StartBy::window:
        if (i % windows_at_once == 0) {
            agree_on_windows();
        }
        wait_for(begin_of(i));
        return;
    case StartBy::none:
        return;
    }
}

std::uint64_t Starter::late_ticks(std::size_t i, std::uint64_t enter) const noexcept {
    const std::uint64_t begin = begin_of(i);
    return enter > begin ? enter - begin : 0;
}

void Starter::agree_on_windows() {
    const std::int64_t late = highest(late_, communicator_);
    if (has_begun_) {
        length_.adapt(static_cast<int>(late), windows_at_once);
    }
    has_begun_ = true;
    late_ = 0;
    // Everybody computes the same length, but only rank 0 knows its clock.
    std::int64_t begin_ns = 0;
    const std::uint64_t here = now(timebase_);
    const std::int64_t here_ns = timebase_.to_ns(here);
    begin_ns = here_ns + slack_ns_;
    mpi::check(MPI_Bcast(&begin_ns, 1, MPI_INT64_T, 0, communicator_), "agree on the windows");
    const std::int64_t until_ns = lead_.own_ns(begin_ns) - here_ns;
    begin_ = here + timebase_.to_ticks(std::max<std::int64_t>(until_ns, 0));
    window_ticks_ = timebase_.to_ticks(length_.ns());
}

void Starter::wait_for(std::uint64_t instant) {
    timebase_.with_clock([&](auto clock) {
        std::uint64_t reading = clock.now();
        late_ += reading > instant ? 1 : 0;
        const std::uint64_t patience = timebase_.to_ticks(yield_ns);
        while (reading < instant) {
            if (instant - reading > patience) {
                ::sched_yield();
            }
            reading = clock.now();
        }
    });
}

} // namespace sonde::collective
