// Waiting and asking for requests: what stands in the place of MPI's functions in a program that
// this library is loaded into before MPI's own. Whoever waits takes the operations under way along.
#include <mpi.h>

#include "tuned/library.hpp"

using namespace sonde::tuned;

namespace {

Background& background() noexcept { return Library::here().background(); }

// Asks again and again, as long as test() answers well and is_done is false.
template <class Test>
int until_done(const int& is_done, Test test) noexcept {
    for (;;) {
        background().drive();
        if (const int status = test(); status != MPI_SUCCESS || is_done != 0) {
            return status;
        }
    }
}

} // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    if (!background().any()) [[likely]] {
        return PMPI_Wait(request, status);
    }
    int is_done = 0;
    return until_done(is_done, [&] { return PMPI_Test(request, &is_done, status); });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (!background().any()) [[likely]] {
        return PMPI_Waitall(count, requests, statuses);
    }
    int is_done = 0;
    return until_done(is_done, [&] { return PMPI_Testall(count, requests, &is_done, statuses); });
}

int MPI_Waitany(int count, MPI_Request requests[], int* which, MPI_Status* status) {
    if (!background().any()) [[likely]] {
        return PMPI_Waitany(count, requests, which, status);
    }
    int is_done = 0;
    return until_done(is_done,
                      [&] { return PMPI_Testany(count, requests, which, &is_done, status); });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* found, int which[],
                 MPI_Status statuses[]) {
    if (!background().any()) [[likely]] {
        return PMPI_Waitsome(count, requests, found, which, statuses);
    }
    *found = 0; // MPI_UNDEFINED is an answer, too
    return until_done(*found,
                      [&] { return PMPI_Testsome(count, requests, found, which, statuses); });
}

int MPI_Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    if (background().any()) [[unlikely]] {
        background().drive();
    }
    return PMPI_Test(request, is_done, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* is_done, MPI_Status statuses[]) {
    if (background().any()) [[unlikely]] {
        background().drive();
    }
    return PMPI_Testall(count, requests, is_done, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int* which, int* is_done, MPI_Status* status) {
    if (background().any()) [[unlikely]] {
        background().drive();
    }
    return PMPI_Testany(count, requests, which, is_done, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int* found, int which[],
                 MPI_Status statuses[]) {
    if (background().any()) [[unlikely]] {
        background().drive();
    }
    return PMPI_Testsome(count, requests, found, which, statuses);
}

} // extern "C"
