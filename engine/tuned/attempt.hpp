// How a call of the program's takes its way, whatever the operation: by a rule's schedule, or on.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "tuned/arguments.hpp"
#include "tuned/background.hpp"
#include "tuned/calls.hpp"
#include "tuned/kind.hpp"
#include "tuned/library.hpp"

namespace sonde::tuned {

constexpr int most_ranks_of_pairs = 512; // a table of all pairs is made for a call

[[nodiscard]] Prepared open(std::shared_ptr<Group> group, const Rule& rule, const Wanted& wanted,
                            const Memories& memories);

// Ready to run; nothing: it passes on. May throw what runs throw.
template <class Arguments>
std::optional<Prepared> prepare(Library& library, const Arguments& arguments, Form form) {
    constexpr Operation operation = Arguments::operation;
    constexpr bool has_pairs =
        row_of(operation).is_uneven && row_of(operation).family == schedule::Family::alltoall;
    const auto pass = [&](Passed why) -> std::optional<Prepared> {
        library.passed(operation, form, why);
        return std::nullopt;
    };
    if (arguments.communicator == MPI_COMM_NULL) {
        return pass(Passed::arguments);
    }
    std::shared_ptr<Group> group = library.group_of(arguments.communicator);
    const Caller& caller = group->caller();
    if (caller.ranks == 0) {
        return pass(Passed::communicator);
    }
    if (!group->rules().any(operation)) {
        return pass(Passed::no_rule);
    }
    if (!arguments.is_usual(caller) || (has_pairs && caller.ranks > most_ranks_of_pairs)) {
        return pass(Passed::arguments);
    }
    Wanted wanted{.operation = operation,
                  .root = arguments.root(),
                  .bytes = arguments.bytes(caller),
                  .sizes = arguments.sizes(caller),
                  .joined = arguments.joined()};
    const Rule* rule = library.rule_for(wanted, form, arguments.communicator, *group);
    if (rule == nullptr) {
        return std::nullopt;
    }
    library.ran(operation, form, *rule);
    return open(std::move(group), *rule, wanted, arguments.memories(caller));
}

// What a call answers where something failed: as MPI does, by the communicator's error handler.
[[nodiscard]] int answer_failure(MPI_Comm communicator, const std::exception_ptr& failure) noexcept;

// Runs what was prepared, and keeps its plan for the next call.
void run_now(Prepared prepared);
// A request that is complete when it is: a receive of this process from itself, since MPI's
// generalised requests cannot be started again, and not every MPI lets another thread complete them
// while this one asks.
[[nodiscard]] MPI_Request run_on(Prepared prepared);

template <class Arguments, auto pass_on, class... A>
int blocking_by_rules(Library& library, A... a) noexcept {
    const Arguments arguments{a...};
    try {
        if (auto prepared = prepare(library, arguments, Form::blocking)) {
            run_now(std::move(*prepared));
            return MPI_SUCCESS;
        }
    } catch (...) {
        return answer_failure(arguments.communicator, std::current_exception());
    }
    return pass_on(a...);
}

template <class Arguments, auto pass_on, class... A>
int blocking(A... a) noexcept {
    Library& library = Library::here();
    if (!library.watches(Arguments::operation)) [[likely]] {
        return pass_on(a...);
    }
    const auto by_rules = [&] { return blocking_by_rules<Arguments, pass_on>(library, a...); };
    return library.counts() == nullptr
               ? by_rules()
               : timed(library, kind_of(library, Arguments{a...}, Form::blocking), by_rules);
}

template <class Arguments, auto pass_on, class... A>
int started_by_rules(Library& library, MPI_Request* request, A... a) noexcept {
    const Arguments arguments{a...};
    try {
        if (auto prepared = prepare(library, arguments, Form::started)) {
            *request = run_on(std::move(*prepared));
            return MPI_SUCCESS;
        }
    } catch (...) {
        return answer_failure(arguments.communicator, std::current_exception());
    }
    return pass_on(a..., request);
}

template <class Arguments, auto pass_on, class... A>
int started(MPI_Request* request, A... a) noexcept {
    Library& library = Library::here();
    if (!library.watches(Arguments::operation)) [[likely]] {
        return pass_on(a..., request);
    }
    const auto by_rules = [&] {
        return started_by_rules<Arguments, pass_on>(library, request, a...);
    };
    return library.counts() == nullptr
               ? by_rules()
               : timed(library, kind_of(library, Arguments{a...}, Form::started), by_rules);
}

} // namespace sonde::tuned
