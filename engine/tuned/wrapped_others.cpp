// Operations that there are no rules for, counted beside the others: what stands in the place of
// MPI's functions in a program that this library is loaded into before MPI's own.
#include <mpi.h>

#include "tuned/kind.hpp"

using namespace sonde::tuned;

namespace {

CallKind kind_of_other(Library& library, Other what, Form form, MPI_Comm comm,
                       std::int64_t count = 0, MPI_Datatype type = MPI_DATATYPE_NULL) noexcept {
    CallKind kind{.operation = operation_count + static_cast<std::size_t>(what), .form = form};
    try {
        if (comm != MPI_COMM_NULL) {
            const Caller caller = library.group_of(comm)->caller();
            kind.ranks = caller.ranks_per_host == 0 ? 0 : caller.ranks;
            kind.ranks_per_host = caller.ranks_per_host;
        }
        if (count > 0 && type != MPI_DATATYPE_NULL) {
            kind.bytes = count * size_of(type);
        }
    } catch (const MpiError&) { // MPI sees to what is wrong
    } catch (const std::exception&) {
    }
    return kind;
}

template <class Call, class... Size>
int other(Other what, Form form, Call call, MPI_Comm comm, Size... size) noexcept {
    Library& library = Library::here();
    if (library.counts() == nullptr) [[likely]] {
        return call();
    }
    return timed(library, kind_of_other(library, what, form, comm, size...), call);
}

} // namespace

extern "C" {

int MPI_Scan(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return other(
        Other::scan, Form::blocking, [&] { return PMPI_Scan(given, got, count, type, op, comm); },
        comm, count, type);
}

int MPI_Exscan(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
    return other(
        Other::exscan, Form::blocking,
        [&] { return PMPI_Exscan(given, got, count, type, op, comm); }, comm, count, type);
}

int MPI_Iscan(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
    return other(
        Other::scan, Form::started,
        [&] { return PMPI_Iscan(given, got, count, type, op, comm, request); }, comm, count, type);
}

int MPI_Iexscan(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
    return other(
        Other::exscan, Form::started,
        [&] { return PMPI_Iexscan(given, got, count, type, op, comm, request); }, comm, count,
        type);
}

int MPI_Neighbor_allgather(const void* given, int given_count, MPI_Datatype given_type, void* got,
                           int got_count, MPI_Datatype got_type, MPI_Comm comm) {
    return other(
        Other::neighbor_allgather, Form::blocking,
        [&] {
            return PMPI_Neighbor_allgather(given, given_count, given_type, got, got_count, got_type,
                                           comm);
        },
        comm);
}

int MPI_Neighbor_allgatherv(const void* given, int given_count, MPI_Datatype given_type, void* got,
                            const int got_counts[], const int places[], MPI_Datatype got_type,
                            MPI_Comm comm) {
    return other(
        Other::neighbor_allgatherv, Form::blocking,
        [&] {
            return PMPI_Neighbor_allgatherv(given, given_count, given_type, got, got_counts, places,
                                            got_type, comm);
        },
        comm);
}

int MPI_Neighbor_alltoall(const void* given, int given_count, MPI_Datatype given_type, void* got,
                          int got_count, MPI_Datatype got_type, MPI_Comm comm) {
    return other(
        Other::neighbor_alltoall, Form::blocking,
        [&] {
            return PMPI_Neighbor_alltoall(given, given_count, given_type, got, got_count, got_type,
                                          comm);
        },
        comm);
}

int MPI_Neighbor_alltoallv(const void* given, const int given_counts[], const int given_places[],
                           MPI_Datatype given_type, void* got, const int got_counts[],
                           const int got_places[], MPI_Datatype got_type, MPI_Comm comm) {
    return other(
        Other::neighbor_alltoallv, Form::blocking,
        [&] {
            return PMPI_Neighbor_alltoallv(given, given_counts, given_places, given_type, got,
                                           got_counts, got_places, got_type, comm);
        },
        comm);
}

int MPI_Neighbor_alltoallw(const void* given, const int given_counts[],
                           const MPI_Aint given_places[], const MPI_Datatype given_types[],
                           void* got, const int got_counts[], const MPI_Aint got_places[],
                           const MPI_Datatype got_types[], MPI_Comm comm) {
    return other(
        Other::neighbor_alltoallw, Form::blocking,
        [&] {
            return PMPI_Neighbor_alltoallw(given, given_counts, given_places, given_types, got,
                                           got_counts, got_places, got_types, comm);
        },
        comm);
}

} // extern "C"
