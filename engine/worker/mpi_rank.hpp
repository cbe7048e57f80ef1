// One rank of sonde-mpi: its part of every request.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/records.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_test.hpp"
#include "transport/mpi/clocks.hpp"
#include "transport/mpi/job.hpp"
#include "transport/mpi/places.hpp"
#include "transport/mpi/spool.hpp"
#include "transport/mpi/thread_path.hpp"
#include "transport/mpi/transport.hpp"
#include "worker/mpi_run.hpp"

namespace sonde {

// Whose records of a request there are.
enum class Reporters : std::uint8_t {
    all,
    hosts, // the first rank of each
    pair,  // these, and both ends of a test of two
    leader // rank 0
};

// What the library says that carries messages between hosts, where it does.
void add_network(nlohmann::json& values, const std::string& prefix,
                 const mpi::NetworkPart& network);

// One rank's part of every request. Each verb is called on all ranks alike, leaves its records in
// the spool, and returns the same failure everywhere.
class MpiRank {
public:
    MpiRank(const mpi::Job& job, Timebase& timebase)
        : job_(job), timebase_(timebase), places_(job),
          records_(spool_.fd(), job.host(), job.rank()),
          others_(static_cast<std::size_t>(job.ranks() - 1)) {
        std::iota(others_.begin(), others_.end(), 1);
        std::set<int> chosen(places_.leaders().begin(), places_.leaders().end());
        chosen.erase(0);
        hosts_.assign(chosen.begin(), chosen.end());
    }

    std::optional<Failure> facts(std::int64_t request);
    std::optional<Failure> place(std::int64_t request, const mpi::PinRequest& asked);
    std::optional<Failure> snapshot(std::int64_t request);
    std::optional<Failure> run(std::int64_t request, const MpiRun& parameters,
                               nlohmann::json& done);

    [[nodiscard]] const mpi::Spool& spool() const noexcept { return spool_; }
    [[nodiscard]] const mpi::Places& places() const noexcept { return places_; }
    // Of the request that was done last: the other ranks whose records rank 0 is to ask for, and
    // whether this is one of them.
    [[nodiscard]] std::span<const int> reporters() const noexcept;
    [[nodiscard]] bool reports() const noexcept {
        return reporters_ == Reporters::all ||
               (reporters_ != Reporters::leader && places_.leads_host()) ||
               (reporters_ == Reporters::pair && std::ranges::count(pair_, job_.rank()) != 0);
    }

private:
    // With more ranks than this only the first one of each host reports what is the host's.
    static constexpr int most_full_ranks = 1024;

    [[nodiscard]] Reporters usual_reporters() const noexcept {
        return job_.ranks() > most_full_ranks ? Reporters::hosts : Reporters::all;
    }
    // Whose records rank 0 asks for where two ranks and the first one of each host report.
    void set_pair(const std::array<int, 2>& ends) {
        std::set<int> chosen(hosts_.begin(), hosts_.end());
        chosen.insert(ends.begin(), ends.end());
        chosen.erase(0);
        pair_.assign(chosen.begin(), chosen.end());
    }
    [[nodiscard]] Reporters reporters_of(const MpiRun& parameters) const noexcept {
        if (!parameters.is_between_two()) {
            return is_summarised(parameters) ? Reporters::hosts : Reporters::all;
        }
        return job_.ranks() > most_full_ranks ? Reporters::pair : Reporters::all;
    }
    [[nodiscard]] bool takes_part(const MpiRun& parameters) const noexcept {
        return !parameters.is_between_two() || job_.rank() == parameters.pair[0] ||
               job_.rank() == parameters.pair[1];
    }
    // Whether the samples of all ranks are too many to be kept one by one.
    [[nodiscard]] bool is_summarised(const MpiRun& parameters) const noexcept {
        return parameters.mpi_test == MpiTest::collective &&
               static_cast<std::uint64_t>(job_.ranks()) * parameters.count >
                   parameters.keep_samples;
    }
    [[nodiscard]] mpi::Clocks& clocks(const MpiRun& parameters);
    [[nodiscard]] Result measure_clock(const MpiRun& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure(const MpiRun& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure_collective(const MpiRun& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure_collective_on(MPI_Comm communicator, const MpiRun& parameters,
                                               const BatchHooks& hooks);
    [[nodiscard]] collective::Setup setup_of(const MpiRun& parameters, MPI_Comm communicator) const;
    void try_library_algorithm(const MpiRun& parameters, MPI_Comm communicator,
                               const LeadLine& lead);
    void require_samples(const MpiRun& parameters) const;
    [[nodiscard]] Result measure_between(mpi::Transport& path, mpi::Control& control, int end,
                                         const MpiRun& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure_all_pairs(const MpiRun& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure_threads(const MpiRun& parameters, const BatchHooks& hooks, int end,
                                         int peer);
    void write_snapshot(std::int64_t request, std::string_view phase,
                        const CounterSources& sources = {});

    const mpi::Job& job_;
    Timebase& timebase_;
    mpi::Places places_;
    mpi::Spool spool_;
    RecordWriter records_;
    std::vector<int> others_, hosts_, pair_; // ranks but 0, as Reporters names them
    Reporters reporters_ = Reporters::all;
    std::map<std::pair<ClockMethod, bool>, mpi::Clocks> clocks_; // by method, and whether apart
    mpi::ThreadCommunicators thread_communicators_;
    std::uint32_t batch_ = 0;
};

} // namespace sonde
