// The ranks of one MPI program as a team: rank 0 is told what to do, all do it, rank 0 answers.
//
// MPI libraries wait by polling, which would burn a core of every measured host between batches and
// while two ranks measure and the others have nothing to do. So nothing here waits inside MPI:
// a rank looks for its message (MPI_Iprobe) and sleeps in between. Timed phases never come here.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/failure.hpp"
#include "transport/mpi/spool.hpp"
#include "transport/mpi/summary.hpp"

namespace sonde::mpi {

class Job {
public:
    // Starts MPI and gives the team its own communicators. `multiple`: asks that threads may call
    // MPI at the same time, which costs something even where there is one. Throws Failure.
    Job(int& argc, char**& argv, bool multiple = false);
    // Ends MPI; every rank must come here, so a rank that cannot go on ends its process instead.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] const std::string& host() const noexcept { return host_; }
    // How long MPI_Init_thread took on the rank where it took longest.
    [[nodiscard]] std::int64_t init_ns() const noexcept { return init_ns_; }
    // What MPI gave of the threads that were asked for, on the rank that got least.
    [[nodiscard]] int thread_level() const noexcept { return thread_level_; }
    [[nodiscard]] bool asked_for_multiple() const noexcept { return asked_for_multiple_; }
    // What the library says that carries messages between hosts.
    [[nodiscard]] const NetworkPart& network() const noexcept { return network_; }
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

    // A short word between two ranks; the one that takes it sleeps until it comes.
    void hand(std::span<const char> word, int to) const { send(word, to, tag_word); }
    [[nodiscard]] std::string take(int from, std::size_t most_bytes) const {
        return receive(from, tag_word, most_bytes);
    }

    // Rank 0: gets the spools of these other ranks, one after the other, in pieces of whole lines.
    void collect(const Spool& mine, std::span<const int> others,
                 const std::function<void(std::string_view)>& write) const;
    // These, meanwhile: hand over theirs.
    void deliver(const Spool& mine) const;

private:
    static constexpr int tag_word = 100;

    [[nodiscard]] NetworkPart of_rank_0(const NetworkPart& said) const;
    void send(std::span<const char> content, int to, int tag) const;
    [[nodiscard]] std::string receive(int from, int tag, std::size_t most_bytes) const;
    void send_to_children(std::span<const char> content, int tag) const;
    [[nodiscard]] int parent() const noexcept { return (rank_ - 1) / 2; }

    int rank_ = 0;
    int ranks_ = 1;
    std::int64_t init_ns_ = 0;
    bool asked_for_multiple_;
    int thread_level_ = 0;
    int launcher_pid_;
    std::string host_;
    NetworkPart network_;
    MPI_Comm team_ = MPI_COMM_NULL;
    MPI_Comm control_ = MPI_COMM_NULL;
    MPI_Comm measured_ = MPI_COMM_NULL;
};

// Does `work` and returns its failure instead of throwing it, for Job::agree().
[[nodiscard]] std::optional<Failure> attempt(const std::function<void()>& work);

} // namespace sonde::mpi
