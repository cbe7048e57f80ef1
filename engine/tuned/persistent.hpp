// Persistent operations. MPI's generalised requests cannot be started again, so the program gets a
// persistent receive from this process itself, on a communicator of the library's: starting it
// starts the operation, and at the operation's end the library sends what it waits for.
#pragma once

#include <mpi.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tuned/attempt.hpp"

namespace sonde::tuned {

class PersistentRequests {
public:
    // Of this process.
    static PersistentRequests& here();

    PersistentRequests(const PersistentRequests&) = delete;
    PersistentRequests& operator=(const PersistentRequests&) = delete;

    [[nodiscard]] MPI_Request add(Prepared prepared);
    // After MPI started it: one of the library's begins. May throw MpiError.
    void start(MPI_Request request);
    void forget(MPI_Request request);
    [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
    void end() noexcept;

private:
    struct Known {
        std::shared_ptr<Prepared> prepared;
        int tag;
    };

    PersistentRequests() = default;

    std::atomic<bool> any_ = false;
    std::mutex mutex_;
    std::map<MPI_Request, Known> known_;
    MPI_Comm self_ = MPI_COMM_NULL;
    int next_tag_ = 0;
};

template <class Arguments, auto pass_on, class... A>
int persistent(MPI_Info info, MPI_Request* request, A... a) noexcept {
    Library& library = Library::here();
    if (!library.watches(Arguments::operation)) [[likely]] {
        return pass_on(a..., info, request);
    }
    const Arguments arguments{a...};
    try {
        if (auto prepared = prepare(library, arguments, Form::persistent)) {
            *request = PersistentRequests::here().add(std::move(*prepared));
            return MPI_SUCCESS;
        }
    } catch (...) {
        return answer_failure(arguments.communicator, std::current_exception());
    }
    return pass_on(a..., info, request);
}

} // namespace sonde::tuned
