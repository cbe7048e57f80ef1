// Computing while an operation is under way: how much of it the operation is hidden behind. Three
// times are taken in every repetition, one after the other: the operation begun and waited for, a
// computation as long as that, and the operation with the computation between its begin and the
// wait (as the Intel MPI Benchmarks and the OSU Micro-Benchmarks do for non-blocking collectives).
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/context.hpp"
#include "collective/operation.hpp"
#include "core/samples.hpp"
#include "transport/mpi/call.hpp"

namespace sonde {
class Timebase;
}

namespace sonde::collective {

// Steps of a computation in registers, each of which needs the one before.
class Computation {
public:
    void run(std::uint64_t steps) noexcept;

private:
    std::uint64_t state_ = 1;
};

// The steps that take a CPU of this speed so long.
[[nodiscard]] std::uint64_t steps_for(std::int64_t wanted_ns, double steps_per_ns) noexcept;

struct OverlapCalls {
    int (*begin)(Context&);
    int (*poll)(Context&); // while computing: MPI gets to go on
    int (*finish)(Context&);
};

// `work` cut into as many parts as there are gaps around `polls` calls. Returns MPI's status.
template <class Work>
int compute_and_poll(Context& context, const OverlapCalls& calls, Work& work, std::uint64_t steps,
                     int polls) {
    const auto parts = static_cast<std::uint64_t>(polls) + 1;
    for (std::uint64_t part = 0; part < parts; ++part) {
        if (part > 0) {
            if (const int status = calls.poll(context); status != MPI_SUCCESS) {
                return status;
            }
        }
        work.run(steps / parts + (part < steps % parts ? 1 : 0));
    }
    return MPI_SUCCESS;
}

// The operation with the computation in it, in ticks of the clock.
template <class Clock, class Work>
std::uint64_t time_together(Context& context, const OverlapCalls& calls, Work& work,
                            std::uint64_t steps, int polls) {
    const std::uint64_t enter = Clock::now();
    int status = calls.begin(context);
    if (status == MPI_SUCCESS) {
        status = compute_and_poll(context, calls, work, steps, polls);
    }
    if (status == MPI_SUCCESS) {
        status = calls.finish(context);
    }
    const std::uint64_t leave = Clock::now();
    mpi::check(status, "do the operation");
    return leave - enter;
}

// MPI's, for what `begin` left in the context.
int poll_pending(Context& context);
int finish_pending(Context& context);

// The second and third times of the repetitions of one operation, whose first is taken elsewhere.
class Overlap {
public:
    // All ranks together: finds out how long the operation takes on the slowest rank.
    Overlap(Operation& operation, MPI_Comm communicator, const Timebase& timebase, int polls,
            std::size_t repetitions);

    // All ranks together. Whether this rank then held what it must.
    template <class Clock>
    bool repeat(std::size_t i) {
        const std::uint64_t alone = Clock::now();
        work_.run(steps_);
        alone_.push(Clock::now() - alone);
        operation_.before(i);
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        together_.push(time_together<Clock>(operation_.context(), calls_, work_, steps_, polls_));
        return operation_.after();
    }

    // Ticks of every repetition.
    [[nodiscard]] const Samples& alone() const noexcept { return alone_; }
    [[nodiscard]] const Samples& together() const noexcept { return together_; }

private:
    Operation& operation_;
    MPI_Comm communicator_;
    OverlapCalls calls_;
    Computation work_;
    std::uint64_t steps_ = 0;
    int polls_;
    Samples alone_;
    Samples together_;
};

} // namespace sonde::collective
