// MPI's own functions for a Carrier, with errors as Failure.
#pragma once

#include <mpi.h>

#include <string_view>

#include "transport/mpi/call.hpp"

namespace sonde::mpi {

struct PlainCalls {
    static constexpr auto send = MPI_Isend;
    static constexpr auto synchronous_send = MPI_Issend;
    static constexpr auto receive = MPI_Irecv;
    static constexpr auto wait_all = MPI_Waitall;
    static constexpr auto wait_some = MPI_Waitsome;
    static constexpr auto test_some = MPI_Testsome;
    static constexpr auto join = MPI_Reduce_local;
    static constexpr auto type_vector = MPI_Type_vector;
    static constexpr auto type_struct = MPI_Type_create_struct;
    static constexpr auto type_commit = MPI_Type_commit;
    static constexpr auto type_free = MPI_Type_free;

    [[noreturn]] static void fail(int status, std::string_view what) {
        throw failure(status, what);
    }
};

} // namespace sonde::mpi
