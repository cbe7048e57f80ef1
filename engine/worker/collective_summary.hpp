// The result of a batch whose samples are too many, as this rank's part of its records: rank 0 has
// what describes all ranks, the others only what is their own.
#pragma once

#include "collective/collective.hpp"
#include "core/lead.hpp"
#include "test/result.hpp"
#include "transport/mpi/clock_method.hpp"
#include "transport/mpi/job.hpp"

namespace sonde {

// All ranks together. `lead`: this rank's clock over rank 0's during the batch. Throws Failure.
[[nodiscard]] Result summary_of(const mpi::Job& job, const collective::Result& found,
                                const LeadSpan& lead, ClockMethod method, bool checked);

} // namespace sonde
