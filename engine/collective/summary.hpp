// What is kept of a batch whose samples, of all ranks together, would be too many: joined by
// reductions, so that what rank 0 holds and how long it takes do not grow with ranks times
// repetitions.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sonde::collective {

// One rank's repetitions. Instants are ns of rank 0's clock since rank 0's start; a stay is what
// counts for completion, from the window's begin where there are windows.
struct OwnTimes {
    std::vector<double> enter_ns;
    std::vector<double> leave_ns;
    std::vector<std::int64_t> duration_ns;
    std::vector<std::int64_t> late_ns; // empty without windows
};

struct SummarySeries {
    std::string name;
    std::string unit;
    std::vector<std::int64_t> values;
};

// The slowest repetitions are kept as they are, of every rank: so many.
constexpr std::size_t slowest_kept = 8;

// All ranks together: the series that describe the repetitions of all, at rank 0; nothing
// elsewhere. Their names are those of docs/reference/records.md. Throws Failure.
[[nodiscard]] std::vector<SummarySeries> summarise(const OwnTimes& own, MPI_Comm communicator);

} // namespace sonde::collective
