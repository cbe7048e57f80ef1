#include "transport/mpi/places.hpp"

#include <unistd.h>

#include <fstream>
#include <set>

#include "core/affinity.hpp"
#include "core/failure.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/job.hpp"
#include "transport/mpi/name_hash.hpp"

namespace sonde::mpi {
namespace {

struct Told {
    std::int64_t host;
    std::int64_t machine;
    std::int64_t process;
};

std::string boot_name() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string name;
    file >> name;
    return name;
}

Told told_of(const std::string& host) {
    // A kernel that does not name its boot is known by its host's name.
    const std::string boot = boot_name();
    return {number_of(host + " " + boot), number_of(boot.empty() ? host : boot), ::getpid()};
}

// Those that this process may use and that were asked for.
std::vector<int> processors_of(const cpu_set_t& set, const PinRequest& asked,
                               const std::string& host) {
    const auto may_use = [&](int cpu) {
        return cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &set);
    };
    if (asked.pin == Pin::listed) {
        for (const int cpu : asked.processors) {
            if (!may_use(cpu)) {
                throw Failure("refused", "CPU " + std::to_string(cpu) +
                                             " was asked for, and a process on " + host +
                                             " may use " + allowed_cpus());
            }
        }
        return asked.processors;
    }
    std::vector<int> found;
    for (int cpu = asked.pin == Pin::not_zero ? 1 : 0; cpu < CPU_SETSIZE; ++cpu) {
        if (may_use(cpu)) {
            found.push_back(cpu);
        }
    }
    return found;
}

} // namespace

std::optional<int> choose_processor(const std::vector<int>& allowed, int local_rank,
                                    int local_ranks, const PinRequest& asked) {
    if (allowed.empty() ||
        (!asked.share && static_cast<std::size_t>(local_ranks) > allowed.size())) {
        return std::nullopt;
    }
    return allowed[static_cast<std::size_t>(local_rank) % allowed.size()];
}

std::optional<std::string> why_motionless(std::int64_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(file, text)) {
        return "is gone";
    }
    const std::size_t name_end = text.rfind(')'); // the name may hold anything
    if (name_end == std::string::npos || name_end + 2 >= text.size()) {
        return std::nullopt;
    }
    switch (text[name_end + 2]) {
    case 'T':
        return "is stopped";
    case 't':
        return "is traced";
    case 'Z':
    case 'X':
        return "has ended";
    default:
        return std::nullopt;
    }
}

std::vector<std::int64_t> gather(const Job& job, std::int64_t mine) {
    std::vector<std::int64_t> all(job.rank() == 0 ? static_cast<std::size_t>(job.ranks()) : 0);
    check(MPI_Gather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, 0, job.control()),
          "tell rank 0 where the ranks are");
    return all;
}

Places::Places(const Job& job) : rank_(job.rank()), host_(job.host()) {
    const Told mine = told_of(host_);
    std::vector<Told> all(static_cast<std::size_t>(job.ranks()));
    constexpr int words = sizeof(Told) / sizeof(std::int64_t);
    check(MPI_Allgather(&mine, words, MPI_INT64_T, all.data(), words, MPI_INT64_T, job.control()),
          "tell the ranks where they are");
    std::set<std::int64_t> hosts;
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const Told& other = all[static_cast<std::size_t>(rank)];
        if (other.host == mine.host) {
            on_host_.push_back({rank, other.process});
        }
        if (other.machine == mine.machine) {
            local_rank_ += rank < rank_ ? 1 : 0;
            ++local_ranks_;
        }
        if (rank_ == 0 && hosts.insert(other.host).second) {
            leaders_.push_back(rank);
        }
    }
    if (::sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) {
        CPU_ZERO(&allowed_);
    }
}

int Places::bind(const PinRequest& asked) {
    ::sched_setaffinity(0, sizeof allowed_, &allowed_);
    if (asked.pin == Pin::none) {
        return -1;
    }
    const std::vector<int> processors = processors_of(allowed_, asked, host_);
    const auto chosen = choose_processor(processors, local_rank_, local_ranks_, asked);
    if (!chosen) {
        throw Failure("refused", std::to_string(local_ranks_) + " ranks are on the machine of " +
                                     host_ + ", which has " + std::to_string(processors.size()) +
                                     " CPUs to bind them to; take fewer ranks, or ask for "
                                     "shared ones (share)");
    }
    pin_to_cpu(*chosen);
    return *chosen;
}

std::vector<std::string> Places::motionless(bool only_leader) const {
    std::vector<std::string> found;
    for (const Neighbour& other : on_host_) {
        const auto why = other.rank != rank_ ? why_motionless(other.process) : std::nullopt;
        if (why) {
            found.push_back("rank " + std::to_string(other.rank) + " on " + host_ +
                            " does not move: process " + std::to_string(other.process) + " " +
                            *why);
        }
        if (only_leader) {
            break;
        }
    }
    return found;
}

} // namespace sonde::mpi
