// Where the ranks of one MPI program are: which share a host, which share a machine's CPUs,
// and which process each of them is.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde::mpi {

class Job;

// How ranks are bound to CPUs.
enum class Pin : std::uint8_t {
    none,     // not at all
    all,      // to those that this process may use, one after the other
    not_zero, // the same without CPU 0, which often has the system's own work
    listed    // to those that are named, in this order
};

struct PinRequest {
    Pin pin = Pin::none;
    bool share = false;               // more ranks than CPUs are fine
    std::vector<int> processors = {}; // of Pin::listed
};

// Which of the allowed CPUs a rank gets: that of its number among the ranks of its machine.
// Nothing where they are fewer than the ranks and `share` is false, or where there is none.
[[nodiscard]] std::optional<int> choose_processor(const std::vector<int>& allowed, int local_rank,
                                                  int local_ranks, const PinRequest& asked);

// What a process does by /proc/PID/stat, where that is why nobody hears of it: "is stopped", "is
// traced", "has ended" or "is gone". Nothing where it runs or waits.
[[nodiscard]] std::optional<std::string> why_motionless(std::int64_t process);

// All ranks together: every rank's value, in order of rank, at rank 0; nothing elsewhere.
[[nodiscard]] std::vector<std::int64_t> gather(const Job& job, std::int64_t mine);

class Places {
public:
    // All ranks together. A host is a kernel and a name, a machine is a kernel: hosts of an
    // emulated cluster share one. Throws Failure.
    explicit Places(const Job& job);

    [[nodiscard]] bool leads_host() const noexcept { return on_host_.front().rank == rank_; }
    // The first rank of each host, in order of rank; known to rank 0.
    [[nodiscard]] const std::vector<int>& leaders() const noexcept { return leaders_; }

    // Binds this rank to a CPU. Returns it, or -1 where it is bound to none. Throws
    // Failure("refused") where there are too few.
    [[nodiscard]] int bind(const PinRequest& asked);

    // A sentence for each rank of this host that does not move, but for this one.
    // `only_leader`: of the host's first rank alone.
    [[nodiscard]] std::vector<std::string> motionless(bool only_leader) const;

private:
    struct Neighbour {
        int rank;
        std::int64_t process;
    };

    int rank_;
    std::string host_;
    std::vector<Neighbour> on_host_; // in order of rank, this one too
    std::vector<int> leaders_;
    int local_rank_ = 0;
    int local_ranks_ = 0;
    cpu_set_t allowed_{}; // before anything was bound
};

} // namespace sonde::mpi
