// Of which kind a call of the program's is, for counting.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>

#include "tuned/arguments.hpp"
#include "tuned/calls.hpp"
#include "tuned/counted.hpp"
#include "tuned/library.hpp"

namespace sonde::tuned {

[[nodiscard]] constexpr bool has_root(schedule::Family family) {
    return family == schedule::Family::broadcast || family == schedule::Family::gather ||
           family == schedule::Family::scatter || family == schedule::Family::reduce;
}

// The mean part, where they are uneven: of all of them where the rank knows them, else of its own.
template <class Arguments>
std::int64_t mean_bytes(const Arguments& arguments, const Caller& c, bool is_root) {
    constexpr const OperationRow& row = row_of(Arguments::operation);
    if constexpr (!row.is_uneven) {
        return arguments.bytes(c);
    } else if constexpr (row.family == schedule::Family::alltoall) {
        return arguments.sent_bytes(c) / c.ranks;
    } else {
        std::int64_t all = 0;
        for (const std::int64_t size : arguments.sizes(c)) {
            all += size;
        }
        return row.known == Known::own && !is_root ? all : all / c.ranks;
    }
}

template <class Arguments>
bool is_in_place(const Arguments& arguments) {
    if constexpr (requires { arguments.own; }) {
        return arguments.own.is_in_place();
    } else if constexpr (requires { arguments.given.is_in_place(); }) {
        return arguments.given.is_in_place();
    } else if constexpr (requires { arguments.given; }) {
        return arguments.given == MPI_IN_PLACE;
    } else {
        return false;
    }
}

// Of what moves; arguments that do not count at this rank may be anything.
template <class Arguments>
bool has_gaps(const Arguments& arguments, bool is_root) {
    if constexpr (requires { arguments.own; }) {
        return !is_without_gaps(is_root ? arguments.all.type : arguments.own.type);
    } else if constexpr (requires { arguments.message; }) {
        return !is_without_gaps(arguments.message.type);
    } else if constexpr (requires { arguments.got.type; }) {
        return !is_without_gaps(arguments.got.type);
    } else if constexpr (requires { arguments.type; }) {
        return !is_without_gaps(arguments.type);
    } else {
        return false;
    }
}

template <class Arguments>
CallKind kind_of(Library& library, const Arguments& arguments, Form form) noexcept {
    constexpr const OperationRow& row = row_of(Arguments::operation);
    CallKind kind{.operation = static_cast<std::size_t>(Arguments::operation), .form = form};
    kind.is_rare = true;
    try {
        if (arguments.communicator == MPI_COMM_NULL) {
            return kind;
        }
        const Caller caller = library.group_of(arguments.communicator)->caller();
        if (caller.ranks_per_host == 0) {
            return kind;
        }
        kind.ranks = caller.ranks;
        kind.ranks_per_host = caller.ranks_per_host;
        kind.is_root = has_root(row.family) && arguments.root() == caller.rank;
        if (!arguments.is_usual(caller)) {
            return kind;
        }
        kind.bytes = mean_bytes(arguments, caller, kind.is_root);
        kind.is_in_place = is_in_place(arguments);
        kind.has_gaps = has_gaps(arguments, kind.is_root);
        const MPI_Op operation = arguments.joined().operation;
        kind.has_own_operation = operation != MPI_OP_NULL && !is_mpis_own(operation);
        kind.is_rare = false;
    } catch (const MpiError&) { // MPI sees to what is wrong
    } catch (const std::exception&) {
    }
    return kind;
}

// Runs a call, and counts it.
template <class Call>
int timed(Library& library, const CallKind& kind, Call call) noexcept {
    const auto begin = CallCounts::Clock::now();
    const int status = call();
    library.counts()->add(kind, begin, CallCounts::Clock::now());
    return status;
}

} // namespace sonde::tuned
