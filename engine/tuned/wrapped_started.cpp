// Operations that return before they are done: what stands in the place of MPI's functions in a
// program that this library is loaded into before MPI's own.
#include <mpi.h>

#include "tuned/arguments.hpp"
#include "tuned/attempt.hpp"

using namespace sonde::tuned;

extern "C" {

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return started<Barrier, PMPI_Ibarrier>(request, comm);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
    return started<Bcast, PMPI_Ibcast>(request, buffer, count, type, root, comm);
}

int MPI_Igather(const void* given, int given_count, MPI_Datatype given_type, void* got,
                int got_count, MPI_Datatype got_type, int root, MPI_Comm comm,
                MPI_Request* request) {
    return started<Gather, PMPI_Igather>(request, given, given_count, given_type, got, got_count,
                                         got_type, root, comm);
}

int MPI_Igatherv(const void* given, int given_count, MPI_Datatype given_type, void* got,
                 const int got_counts[], const int places[], MPI_Datatype got_type, int root,
                 MPI_Comm comm, MPI_Request* request) {
    return started<Gatherv, PMPI_Igatherv>(request, given, given_count, given_type, got, got_counts,
                                           places, got_type, root, comm);
}

int MPI_Iscatter(const void* given, int given_count, MPI_Datatype given_type, void* got,
                 int got_count, MPI_Datatype got_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
    return started<Scatter, PMPI_Iscatter>(request, given, given_count, given_type, got, got_count,
                                           got_type, root, comm);
}

int MPI_Iscatterv(const void* given, const int given_counts[], const int places[],
                  MPI_Datatype given_type, void* got, int got_count, MPI_Datatype got_type,
                  int root, MPI_Comm comm, MPI_Request* request) {
    return started<Scatterv, PMPI_Iscatterv>(request, given, given_counts, places, given_type, got,
                                             got_count, got_type, root, comm);
}

int MPI_Iallgather(const void* given, int given_count, MPI_Datatype given_type, void* got,
                   int got_count, MPI_Datatype got_type, MPI_Comm comm, MPI_Request* request) {
    return started<Allgather, PMPI_Iallgather>(request, given, given_count, given_type, got,
                                               got_count, got_type, comm);
}

int MPI_Iallgatherv(const void* given, int given_count, MPI_Datatype given_type, void* got,
                    const int got_counts[], const int places[], MPI_Datatype got_type,
                    MPI_Comm comm, MPI_Request* request) {
    return started<Allgatherv, PMPI_Iallgatherv>(request, given, given_count, given_type, got,
                                                 got_counts, places, got_type, comm);
}

int MPI_Ialltoall(const void* given, int given_count, MPI_Datatype given_type, void* got,
                  int got_count, MPI_Datatype got_type, MPI_Comm comm, MPI_Request* request) {
    return started<Alltoall, PMPI_Ialltoall>(request, given, given_count, given_type, got,
                                             got_count, got_type, comm);
}

int MPI_Ialltoallv(const void* given, const int given_counts[], const int given_places[],
                   MPI_Datatype given_type, void* got, const int got_counts[],
                   const int got_places[], MPI_Datatype got_type, MPI_Comm comm,
                   MPI_Request* request) {
    return started<Alltoallv, PMPI_Ialltoallv>(request, given, given_counts, given_places,
                                               given_type, got, got_counts, got_places, got_type,
                                               comm);
}

int MPI_Ialltoallw(const void* given, const int given_counts[], const int given_places[],
                   const MPI_Datatype given_types[], void* got, const int got_counts[],
                   const int got_places[], const MPI_Datatype got_types[], MPI_Comm comm,
                   MPI_Request* request) {
    return started<Alltoallw, PMPI_Ialltoallw>(request, given, given_counts, given_places,
                                               given_types, got, got_counts, got_places, got_types,
                                               comm);
}

int MPI_Ireduce(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
    return started<Reduce, PMPI_Ireduce>(request, given, got, count, type, op, root, comm);
}

int MPI_Iallreduce(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
    return started<Allreduce, PMPI_Iallreduce>(request, given, got, count, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
    return started<ReduceScatterBlock, PMPI_Ireduce_scatter_block>(request, given, got, count, type,
                                                                   op, comm);
}

int MPI_Ireduce_scatter(const void* given, void* got, const int counts[], MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request* request) {
    return started<ReduceScatter, PMPI_Ireduce_scatter>(request, given, got, counts, type, op,
                                                        comm);
}

} // extern "C"
