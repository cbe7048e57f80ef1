// Blocking operations: what stands in the place of MPI's functions in a program that this library
// is loaded into before MPI's own.
#include <mpi.h>

#include "tuned/arguments.hpp"
#include "tuned/attempt.hpp"

using namespace sonde::tuned;

extern "C" {

int MPI_Barrier(MPI_Comm comm) { return blocking<Barrier, PMPI_Barrier>(comm); }

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return blocking<Bcast, PMPI_Bcast>(buffer, count, type, root, comm);
}

int MPI_Gather(const void* given, int given_count, MPI_Datatype given_type, void* got,
               int got_count, MPI_Datatype got_type, int root, MPI_Comm comm) {
    return blocking<Gather, PMPI_Gather>(given, given_count, given_type, got, got_count, got_type,
                                         root, comm);
}

int MPI_Gatherv(const void* given, int given_count, MPI_Datatype given_type, void* got,
                const int got_counts[], const int places[], MPI_Datatype got_type, int root,
                MPI_Comm comm) {
    return blocking<Gatherv, PMPI_Gatherv>(given, given_count, given_type, got, got_counts, places,
                                           got_type, root, comm);
}

int MPI_Scatter(const void* given, int given_count, MPI_Datatype given_type, void* got,
                int got_count, MPI_Datatype got_type, int root, MPI_Comm comm) {
    return blocking<Scatter, PMPI_Scatter>(given, given_count, given_type, got, got_count, got_type,
                                           root, comm);
}

int MPI_Scatterv(const void* given, const int given_counts[], const int places[],
                 MPI_Datatype given_type, void* got, int got_count, MPI_Datatype got_type, int root,
                 MPI_Comm comm) {
    return blocking<Scatterv, PMPI_Scatterv>(given, given_counts, places, given_type, got,
                                             got_count, got_type, root, comm);
}

int MPI_Allgather(const void* given, int given_count, MPI_Datatype given_type, void* got,
                  int got_count, MPI_Datatype got_type, MPI_Comm comm) {
    return blocking<Allgather, PMPI_Allgather>(given, given_count, given_type, got, got_count,
                                               got_type, comm);
}

int MPI_Allgatherv(const void* given, int given_count, MPI_Datatype given_type, void* got,
                   const int got_counts[], const int places[], MPI_Datatype got_type,
                   MPI_Comm comm) {
    return blocking<Allgatherv, PMPI_Allgatherv>(given, given_count, given_type, got, got_counts,
                                                 places, got_type, comm);
}

int MPI_Alltoall(const void* given, int given_count, MPI_Datatype given_type, void* got,
                 int got_count, MPI_Datatype got_type, MPI_Comm comm) {
    return blocking<Alltoall, PMPI_Alltoall>(given, given_count, given_type, got, got_count,
                                             got_type, comm);
}

int MPI_Alltoallv(const void* given, const int given_counts[], const int given_places[],
                  MPI_Datatype given_type, void* got, const int got_counts[],
                  const int got_places[], MPI_Datatype got_type, MPI_Comm comm) {
    return blocking<Alltoallv, PMPI_Alltoallv>(given, given_counts, given_places, given_type, got,
                                               got_counts, got_places, got_type, comm);
}

int MPI_Alltoallw(const void* given, const int given_counts[], const int given_places[],
                  const MPI_Datatype given_types[], void* got, const int got_counts[],
                  const int got_places[], const MPI_Datatype got_types[], MPI_Comm comm) {
    return blocking<Alltoallw, PMPI_Alltoallw>(given, given_counts, given_places, given_types, got,
                                               got_counts, got_places, got_types, comm);
}

int MPI_Reduce(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    return blocking<Reduce, PMPI_Reduce>(given, got, count, type, op, root, comm);
}

int MPI_Allreduce(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    return blocking<Allreduce, PMPI_Allreduce>(given, got, count, type, op, comm);
}

int MPI_Reduce_scatter_block(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    return blocking<ReduceScatterBlock, PMPI_Reduce_scatter_block>(given, got, count, type, op,
                                                                   comm);
}

int MPI_Reduce_scatter(const void* given, void* got, const int counts[], MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
    return blocking<ReduceScatter, PMPI_Reduce_scatter>(given, got, counts, type, op, comm);
}

} // extern "C"
