// Waiting and asking for requests: what stands in the place of MPI's functions in a program that
// this library is loaded into before MPI's own. Whoever waits takes the operations under way along.
#include <mpi.h>

#include <algorithm>

#include "tuned/library.hpp"

using namespace sonde::tuned;

namespace {

Background& background() noexcept { return Library::here().background(); }

// Whether MPI has nothing more to wait for, or would say what is wrong.
bool is_over(MPI_Request request) noexcept {
    int is_done = 0;
    const int status = PMPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE);
    return status != MPI_SUCCESS || is_done != 0;
}

void take_along() noexcept {
    if (background().any()) [[unlikely]] {
        background().drive();
    }
}

// Takes operations along until MPI's own call returns at once. The requests are looked at one by
// one: MPI_Testall of MPICH 5.0 is not safe among several threads.
void take_along_until_all(int count, const MPI_Request requests[]) noexcept {
    for (int i = 0; i < count && background().any(); ++i) {
        while (background().any() && !is_over(requests[i])) {
            background().drive();
        }
    }
}

void take_along_until_any(int count, const MPI_Request requests[]) noexcept {
    while (background().any() && std::none_of(requests, requests + std::max(count, 0), is_over)) {
        background().drive();
    }
}

} // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    take_along_until_all(1, request);
    return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    take_along_until_all(count, requests);
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Waitany(int count, MPI_Request requests[], int* which, MPI_Status* status) {
    take_along_until_any(count, requests);
    return PMPI_Waitany(count, requests, which, status);
}

int MPI_Waitsome(int count, MPI_Request requests[], int* found, int which[],
                 MPI_Status statuses[]) {
    take_along_until_any(count, requests);
    return PMPI_Waitsome(count, requests, found, which, statuses);
}

int MPI_Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    take_along();
    return PMPI_Test(request, is_done, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* is_done, MPI_Status statuses[]) {
    take_along();
    return PMPI_Testall(count, requests, is_done, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int* which, int* is_done, MPI_Status* status) {
    take_along();
    return PMPI_Testany(count, requests, which, is_done, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int* found, int which[],
                 MPI_Status statuses[]) {
    take_along();
    return PMPI_Testsome(count, requests, found, which, statuses);
}

} // extern "C"
