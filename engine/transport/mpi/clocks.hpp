// The clocks of all ranks beside rank 0's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/lead.hpp"
#include "transport/mpi/clock_method.hpp"
#include "transport/mpi/clock_tree.hpp"

namespace sonde {
class Timebase;
}

namespace sonde::mpi {

class Job;

// What compare() found on this rank about its parent's clock.
struct ClockComparison {
    int parent = -1;
    LeadBounds bounds;
    std::vector<LeadBounds> fastest; // with jones_koenig: the fastest exchanges, each by itself
};

class Clocks {
public:
    // All ranks together. `apart`: as if every rank had a clock of its own, to see how well the
    // method does where the truth is known to be 0. Throws Failure; with wtime also where
    // MPI_Wtime is not the same clock for all, or too coarse.
    Clocks(const Job& job, ClockMethod method, bool apart);

    // The clock that this rank reads: equal numbers, one clock.
    [[nodiscard]] std::int64_t group() const noexcept { return group_; }
    // The clock that it truly reads, whether taken apart or not.
    [[nodiscard]] std::int64_t name() const noexcept { return name_; }

    // All ranks together: everybody learns its lead over rank 0. Nothing for a rank that has nobody
    // to compare with. Throws Failure.
    std::optional<ClockComparison> compare(Timebase& timebase);

    [[nodiscard]] ClockMethod method() const noexcept { return method_; }

    // This rank's clock less rank 0's, by the comparisons so far.
    [[nodiscard]] const LeadLine& lead() const noexcept { return lead_; }

private:
    [[nodiscard]] ClockComparison ask(const Timebase& timebase);
    void answer(int child, const Timebase& timebase) const;
    void follow(const ClockComparison& found, const LeadLine& parents);

    const Job& job_;
    ClockMethod method_;
    std::int64_t name_ = 0;
    std::int64_t group_ = 0;
    ClockPlace place_;
    bool one_clock_ = false;
    LeadLine lead_;
    std::optional<LeadBounds> first_; // over the parent's clock
};

} // namespace sonde::mpi
