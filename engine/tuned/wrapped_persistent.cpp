// Persistent operations: what stands in the place of MPI's functions in a program that this library
// is loaded into before MPI's own.
#include <mpi.h>

#include "tuned/arguments.hpp"
#include "tuned/persistent.hpp"

using namespace sonde::tuned;

extern "C" {

#if MPI_VERSION >= 4

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Barrier, PMPI_Barrier_init>(info, request, comm);
}

int MPI_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
    return persistent<Bcast, PMPI_Bcast_init>(info, request, buffer, count, type, root, comm);
}

int MPI_Gather_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                    int got_count, MPI_Datatype got_type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request) {
    return persistent<Gather, PMPI_Gather_init>(info, request, given, given_count, given_type, got,
                                                got_count, got_type, root, comm);
}

int MPI_Gatherv_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                     const int got_counts[], const int places[], MPI_Datatype got_type, int root,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Gatherv, PMPI_Gatherv_init>(info, request, given, given_count, given_type,
                                                  got, got_counts, places, got_type, root, comm);
}

int MPI_Scatter_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                     int got_count, MPI_Datatype got_type, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request) {
    return persistent<Scatter, PMPI_Scatter_init>(info, request, given, given_count, given_type,
                                                  got, got_count, got_type, root, comm);
}

int MPI_Scatterv_init(const void* given, const int given_counts[], const int places[],
                      MPI_Datatype given_type, void* got, int got_count, MPI_Datatype got_type,
                      int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Scatterv, PMPI_Scatterv_init>(info, request, given, given_counts, places,
                                                    given_type, got, got_count, got_type, root,
                                                    comm);
}

int MPI_Allgather_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                       int got_count, MPI_Datatype got_type, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
    return persistent<Allgather, PMPI_Allgather_init>(info, request, given, given_count, given_type,
                                                      got, got_count, got_type, comm);
}

int MPI_Allgatherv_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                        const int got_counts[], const int places[], MPI_Datatype got_type,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Allgatherv, PMPI_Allgatherv_init>(
        info, request, given, given_count, given_type, got, got_counts, places, got_type, comm);
}

int MPI_Alltoall_init(const void* given, int given_count, MPI_Datatype given_type, void* got,
                      int got_count, MPI_Datatype got_type, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
    return persistent<Alltoall, PMPI_Alltoall_init>(info, request, given, given_count, given_type,
                                                    got, got_count, got_type, comm);
}

int MPI_Alltoallv_init(const void* given, const int given_counts[], const int given_places[],
                       MPI_Datatype given_type, void* got, const int got_counts[],
                       const int got_places[], MPI_Datatype got_type, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
    return persistent<Alltoallv, PMPI_Alltoallv_init>(info, request, given, given_counts,
                                                      given_places, given_type, got, got_counts,
                                                      got_places, got_type, comm);
}

int MPI_Alltoallw_init(const void* given, const int given_counts[], const int given_places[],
                       const MPI_Datatype given_types[], void* got, const int got_counts[],
                       const int got_places[], const MPI_Datatype got_types[], MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
    return persistent<Alltoallw, PMPI_Alltoallw_init>(info, request, given, given_counts,
                                                      given_places, given_types, got, got_counts,
                                                      got_places, got_types, comm);
}

int MPI_Reduce_init(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Reduce, PMPI_Reduce_init>(info, request, given, got, count, type, op, root,
                                                comm);
}

int MPI_Allreduce_init(const void* given, void* got, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<Allreduce, PMPI_Allreduce_init>(info, request, given, got, count, type, op,
                                                      comm);
}

int MPI_Reduce_scatter_block_init(const void* given, void* got, int count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<ReduceScatterBlock, PMPI_Reduce_scatter_block_init>(info, request, given, got,
                                                                          count, type, op, comm);
}

int MPI_Reduce_scatter_init(const void* given, void* got, const int counts[], MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent<ReduceScatter, PMPI_Reduce_scatter_init>(info, request, given, got, counts,
                                                               type, op, comm);
}

#endif

} // extern "C"
