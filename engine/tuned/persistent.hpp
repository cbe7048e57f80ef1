// Persistent operations. The program gets a persistent receive of this process from itself:
// starting it starts the operation, at whose end the library sends what it waits for.
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

private:
    struct Known {
        std::shared_ptr<Prepared> prepared;
        int tag;
    };

    PersistentRequests() = default;

    std::atomic<bool> any_ = false;
    std::mutex mutex_;
    std::map<MPI_Request, Known> known_;
};

template <class Arguments, auto pass_on, class... A>
int persistent_by_rules(Library& library, MPI_Info info, MPI_Request* request, A... a) noexcept {
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

template <class Arguments, auto pass_on, class... A>
int persistent(MPI_Info info, MPI_Request* request, A... a) noexcept {
    Library& library = Library::here();
    if (!library.watches(Arguments::operation)) [[likely]] {
        return pass_on(a..., info, request);
    }
    const auto by_rules = [&] {
        return persistent_by_rules<Arguments, pass_on>(library, info, request, a...);
    };
    return library.counts() == nullptr
               ? by_rules()
               : timed(library, kind_of(library, Arguments{a...}, Form::persistent), by_rules);
}

} // namespace sonde::tuned
