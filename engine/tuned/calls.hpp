// MPI's functions by their second names: the first ones are those of this library.
#pragma once

#include <mpi.h>

#include <string_view>

namespace sonde::tuned {

// What a call of MPI's answered; the program gets it as the call's own answer.
struct MpiError {
    int status;
};

inline void require(int status) {
    if (status != MPI_SUCCESS) [[unlikely]] {
        throw MpiError{status};
    }
}

struct BelowCalls {
    static constexpr auto send = PMPI_Isend;
    static constexpr auto synchronous_send = PMPI_Issend;
    static constexpr auto receive = PMPI_Irecv;
    static constexpr auto wait_all = PMPI_Waitall;
    static constexpr auto wait_some = PMPI_Waitsome;
    static constexpr auto test_some = PMPI_Testsome;
    static constexpr auto join = PMPI_Reduce_local;
    static constexpr auto type_vector = PMPI_Type_vector;
    static constexpr auto type_struct = PMPI_Type_create_struct;
    static constexpr auto type_commit = PMPI_Type_commit;
    static constexpr auto type_free = PMPI_Type_free;

    [[noreturn]] static void fail(int status, std::string_view /*what*/) { throw MpiError{status}; }
};

} // namespace sonde::tuned
