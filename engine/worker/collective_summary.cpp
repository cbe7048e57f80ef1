#include "worker/collective_summary.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "collective/summary.hpp"
#include "core/histogram.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/places.hpp"

namespace sonde {
namespace {

std::int64_t told_by_root(const mpi::Job& job, std::int64_t value) {
    mpi::check(MPI_Bcast(&value, 1, MPI_INT64_T, 0, job.measured()), "tell when rank 0 began");
    return value;
}

std::int64_t largest(const mpi::Job& job, std::int64_t mine) {
    std::int64_t found = 0;
    mpi::check(MPI_Reduce(&mine, &found, 1, MPI_INT64_T, MPI_MAX, 0, job.measured()),
               "join what clocks are uncertain by");
    return found;
}

std::int64_t sum(const mpi::Job& job, std::int64_t mine) {
    std::int64_t found = 0;
    mpi::check(MPI_Reduce(&mine, &found, 1, MPI_INT64_T, MPI_SUM, 0, job.measured()),
               "add up what ranks sent");
    return found;
}

// Instants are taken over to rank 0's clock before they are joined: who was last is known only
// there.
collective::OwnTimes on_common_clock(const collective::Result& found, const LeadSpan& lead,
                                     std::int64_t zero_ns) {
    collective::OwnTimes own;
    own.duration_ns = found.duration_ns;
    own.late_ns = found.late_ns;
    own.enter_ns.reserve(found.begin_ns.size());
    own.leave_ns.reserve(found.begin_ns.size());
    const auto common_ns = [&](std::int64_t own_ns) {
        return static_cast<double>(own_ns - zero_ns) - lead.at(own_ns);
    };
    for (std::size_t i = 0; i < found.begin_ns.size(); ++i) {
        const std::int64_t enter_ns = found.start_ns + found.begin_ns[i];
        own.enter_ns.push_back(common_ns(enter_ns));
        own.leave_ns.push_back(common_ns(enter_ns + found.duration_ns[i]));
    }
    return own;
}

} // namespace

Result summary_of(const mpi::Job& job, const collective::Result& found, const LeadSpan& lead,
                  ClockMethod method, bool checked) {
    const std::int64_t zero_ns = told_by_root(job, found.start_ns);
    auto joined = collective::summarise(on_common_clock(found, lead, zero_ns), job.measured());
    const std::int64_t uncertainty_ns = largest(job, lead.uncertainty_ns());
    const std::int64_t messages = sum(job, found.messages);
    Result result;
    result.counters = {{"start_ns", found.start_ns},
                       {"end_ns", found.end_ns},
                       {"cpu", found.cpu},
                       {"bytes_sent", found.least_bytes_sent},
                       {"clock_method", static_cast<std::int64_t>(method)}};
    result.counters.insert(found.frames.begin(), found.frames.end());
    if (checked) {
        auto corrupt = mpi::gather(job, found.corrupt);
        if (job.rank() == 0) {
            result.series.push_back({"rank_corrupt", "count", std::move(corrupt)});
        }
    }
    if (job.rank() != 0) {
        return result;
    }
    for (auto& [name, unit, values] : joined) {
        result.series.push_back({std::move(name), std::move(unit), std::move(values)});
    }
    result.counters["summarised_ranks"] = job.ranks();
    result.counters["histogram_precision_bits"] = Histogram::precision_bits;
    result.counters["clock_uncertainty_ns"] = uncertainty_ns;
    if (messages > 0) {
        result.counters["window_messages"] = messages; // of all ranks
    }
    return result;
}

} // namespace sonde
