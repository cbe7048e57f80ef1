// Beginning and end, communicators and requests: what stands in the place of MPI's functions in a
// program that this library is loaded into before MPI's own.
#include <mpi.h>

#include <exception>
#include <vector>

#include "tuned/library.hpp"
#include "tuned/persistent.hpp"

using namespace sonde::tuned;

namespace {

int taken_in(int status, const MPI_Comm* made) {
    if (status == MPI_SUCCESS) {
        Library::here().take_in(*made);
    }
    return status;
}

int begun(int status) {
    if (status == MPI_SUCCESS) {
        Library::here().begin();
    }
    return status;
}

int start_ours(int count, const MPI_Request requests[]) {
    try {
        for (int i = 0; i < count; ++i) {
            PersistentRequests::here().start(requests[i]);
        }
        return MPI_SUCCESS;
    } catch (...) {
        return answer_failure(MPI_COMM_WORLD, std::current_exception());
    }
}

} // namespace

extern "C" {

int MPI_Init(int* argc, char*** argv) {
    const int level = Library::thread_level(MPI_THREAD_SINGLE);
    if (level == MPI_THREAD_SINGLE) {
        return begun(PMPI_Init(argc, argv));
    }
    int provided = MPI_THREAD_SINGLE;
    return begun(PMPI_Init_thread(argc, argv, level, &provided));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return begun(PMPI_Init_thread(argc, argv, Library::thread_level(required), provided));
}

int MPI_Finalize() {
    Library::here().end();
    return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int code) {
    Library::here().tell_counts(CallCounts::End::abort);
    return PMPI_Abort(comm, code);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return taken_in(PMPI_Comm_dup(comm, made), made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    return taken_in(PMPI_Comm_create(comm, group, made), made);
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
    return taken_in(PMPI_Comm_split(comm, colour, key, made), made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    return taken_in(PMPI_Comm_split_type(comm, type, key, info, made), made);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
                    int reorder, MPI_Comm* made) {
    return taken_in(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made), made);
}

int MPI_Comm_free(MPI_Comm* comm) {
    const int status = PMPI_Comm_free(comm);
    Library::here().free_retired();
    return status;
}

int MPI_Start(MPI_Request* request) {
    const bool has_ours = PersistentRequests::here().any();
    const int status = PMPI_Start(request);
    return has_ours && status == MPI_SUCCESS ? start_ours(1, request) : status;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    const bool has_ours = PersistentRequests::here().any();
    const int status = PMPI_Startall(count, requests);
    return has_ours && status == MPI_SUCCESS ? start_ours(count, requests) : status;
}

int MPI_Request_free(MPI_Request* request) {
    if (PersistentRequests::here().any()) {
        PersistentRequests::here().forget(*request); // before another one may have its handle
    }
    return PMPI_Request_free(request);
}

} // extern "C"
