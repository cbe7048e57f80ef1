#include "transport/mpi/thread_path.hpp"

#include <exception>
#include <string>

#include "core/failure.hpp"
#include "transport/mpi/job.hpp"

namespace sonde::mpi {

ThreadCommunicators::~ThreadCommunicators() {
    if (std::uncaught_exceptions() == 0) {
        for (MPI_Comm& communicator : own_) {
            MPI_Comm_free(&communicator);
        }
    }
}

void ThreadCommunicators::provide(const Job& job, std::size_t wanted) {
    while (own_.size() < wanted) {
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_dup(job.measured(), &made), "make a communicator for a thread");
        own_.push_back(made);
    }
}

std::vector<ThreadPath> ThreadCommunicators::paths(const Job& job, int peer, std::size_t threads,
                                                   bool shared) const {
    std::vector<ThreadPath> found;
    for (std::size_t i = 0; i < threads; ++i) {
        found.emplace_back(shared ? job.measured() : own_.at(i), peer,
                           shared ? static_cast<int>(i) + 1 : 1);
    }
    return found;
}

std::string_view thread_level_name(int level) noexcept {
    if (level == MPI_THREAD_MULTIPLE) {
        return "MPI_THREAD_MULTIPLE";
    }
    if (level == MPI_THREAD_SERIALIZED) {
        return "MPI_THREAD_SERIALIZED";
    }
    return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

void require_thread_multiple(int provided, bool was_asked_for) {
    if (provided >= MPI_THREAD_MULTIPLE) {
        return;
    }
    const std::string given(thread_level_name(provided));
    if (was_asked_for) {
        throw Failure("unsupported", "this MPI gave " + given +
                                         " where MPI_THREAD_MULTIPLE was asked for, so its threads "
                                         "cannot call it at the same time");
    }
    throw Failure("bad_request", "request: several threads need an MPI program that was started "
                                 "with --thread-multiple; this one has " +
                                     given);
}

} // namespace sonde::mpi
