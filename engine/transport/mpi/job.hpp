// The ranks of one MPI program as a team: rank 0 is told what to do, all do it, rank 0 answers.
//
// MPI libraries wait by polling, which would burn a core of every measured host between batches and
// while two ranks measure and the others have nothing to do. So nothing here waits inside MPI:
// a rank looks for its message (MPI_Iprobe) and sleeps in between. Timed phases never come here.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/failure.hpp"
#include "transport/mpi/spool.hpp"

namespace sonde::mpi {

class Job {
public:
    // Starts MPI and gives the team its own communicators. Throws Failure.
    Job(int& argc, char**& argv);
    // Ends MPI; every rank must come here, so a rank that cannot go on ends its process instead.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] const std::string& host() const noexcept { return host_; }
    // Carries the measured traffic and nothing else.
    [[nodiscard]] MPI_Comm measured() const noexcept { return measured_; }
    // Carries the pre- and post-synchronisation of two-rank tests.
    [[nodiscard]] MPI_Comm control() const noexcept { return control_; }

    // Rank 0: hands text to all other ranks. Others: wait for it and pass it on.
    void tell(std::string_view text) const;
    [[nodiscard]] std::string listen() const;

    // All ranks: `mine` is this rank's failure, if it has one. When every rank has come here, all
    // get the same: the failure of the lowest rank that has one, or nothing.
    [[nodiscard]] std::optional<Failure> agree(const std::optional<Failure>& mine) const;

    // Rank 0: gets each rank's spool, in order of rank, in pieces of whole lines.
    void collect(const Spool& mine, const std::function<void(std::string_view)>& write) const;
    // The other ranks, meanwhile: hand over theirs.
    void deliver(const Spool& mine) const;

private:
    void send(std::span<const char> content, int to, int tag) const;
    [[nodiscard]] std::string receive(int from, int tag, std::size_t most_bytes) const;
    void send_to_children(std::span<const char> content, int tag) const;
    [[nodiscard]] int parent() const noexcept { return (rank_ - 1) / 2; }

    int rank_ = 0;
    int ranks_ = 1;
    int launcher_pid_;
    std::string host_;
    MPI_Comm team_ = MPI_COMM_NULL;
    MPI_Comm control_ = MPI_COMM_NULL;
    MPI_Comm measured_ = MPI_COMM_NULL;
};

// Does `work` and returns its failure instead of throwing it, for Job::agree().
[[nodiscard]] std::optional<Failure> attempt(const std::function<void()>& work);

} // namespace sonde::mpi
