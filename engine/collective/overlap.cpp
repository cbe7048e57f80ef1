#include "collective/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/clock.hpp"

namespace sonde::collective {
namespace {

// Calls before the first repetition, which open connections and tell the usual time.
constexpr std::size_t calls_before = 9;
constexpr std::uint64_t steps_at_once = 65'536;
constexpr int speeds_taken = 9;
constexpr std::uint64_t most_steps = std::uint64_t{1} << 42U;

std::uint64_t now(const Timebase& timebase) {
    return timebase.with_clock([](auto clock) { return clock.now(); });
}

std::int64_t median(std::vector<std::int64_t> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

// The usual time of the operation, on the rank where that is longest.
std::int64_t usual_ns(Operation& operation, MPI_Comm communicator, const Timebase& timebase) {
    std::vector<std::int64_t> times_ns;
    for (std::size_t i = 0; i < calls_before; ++i) {
        operation.before(i);
        mpi::check(MPI_Barrier(communicator), "synchronise the ranks");
        const std::uint64_t enter = now(timebase);
        mpi::check(operation.call()(operation.context()), "do the operation");
        times_ns.push_back(std::llround(timebase.duration_ns(now(timebase) - enter)));
        [[maybe_unused]] const bool intact = operation.after(); // the measured ones are counted
    }
    const std::int64_t mine_ns = median(std::move(times_ns));
    std::int64_t longest_ns = 0;
    mpi::check(MPI_Allreduce(&mine_ns, &longest_ns, 1, MPI_INT64_T, MPI_MAX, communicator),
               "agree on a time");
    return longest_ns;
}

// The best of a few: an interrupted one is no speed.
double steps_per_ns(Computation& work, const Timebase& timebase) {
    double fastest = 0.0;
    for (int i = 0; i < speeds_taken; ++i) {
        const std::uint64_t begin = now(timebase);
        work.run(steps_at_once);
        const double taken_ns = timebase.duration_ns(now(timebase) - begin);
        fastest = std::max(fastest, static_cast<double>(steps_at_once) / std::max(taken_ns, 1.0));
    }
    return fastest;
}

} // namespace

void Computation::run(std::uint64_t steps) noexcept {
    std::uint64_t state = state_;
    for (std::uint64_t step = 0; step < steps; ++step) {
        // Knuth's generator MMIX; the statement keeps the compiler from joining steps.
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        asm volatile("" : "+r"(state)); // NOLINT(hicpp-no-assembler)
    }
    state_ = state;
}

std::uint64_t steps_for(std::int64_t wanted_ns, double steps_per_ns) noexcept {
    const double steps = static_cast<double>(std::max<std::int64_t>(wanted_ns, 0)) * steps_per_ns;
    return steps < 1.0
               ? 1
               : static_cast<std::uint64_t>(std::min(steps, static_cast<double>(most_steps)));
}

int poll_pending(Context& context) {
    int done = 0;
    return context.requests.empty()
               ? MPI_Test(&context.request, &done, MPI_STATUS_IGNORE)
               : MPI_Testall(static_cast<int>(context.requests.size()), context.requests.data(),
                             &done, MPI_STATUSES_IGNORE);
}

int finish_pending(Context& context) {
    return context.requests.empty() ? MPI_Wait(&context.request, MPI_STATUS_IGNORE)
                                    : MPI_Waitall(static_cast<int>(context.requests.size()),
                                                  context.requests.data(), MPI_STATUSES_IGNORE);
}

Overlap::Overlap(Operation& operation, MPI_Comm communicator, const Timebase& timebase, int polls,
                 std::size_t repetitions)
    : operation_(operation),
      communicator_(communicator), calls_{operation.begin(), poll_pending, finish_pending},
      polls_(polls), alone_(repetitions), together_(repetitions) {
    const std::int64_t wanted_ns = usual_ns(operation, communicator, timebase);
    steps_ = steps_for(wanted_ns, steps_per_ns(work_, timebase));
}

} // namespace sonde::collective
