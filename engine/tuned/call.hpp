// An operation as the program asked for it, whatever its function: what schedules need of it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"
#include "tuned/operation.hpp"
#include "tuned/side.hpp"

namespace sonde::tuned {

// Who calls: of the program's communicator.
struct Caller {
    int rank = 0;
    int ranks = 1;
    int ranks_per_host = 0; // on the host with most; 0: they are not of one group and program
};

// The program's memory. A broadcast has its message in `given` at the root, in `got` elsewhere.
struct Memories {
    std::vector<Part> given;
    std::vector<Part> got;
    bool given_is_got = false; // what is got takes the place of what is given
};

// How ranks' elements are joined.
struct Joined {
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_Op operation = MPI_OP_NULL;
};

// Bytes of all parts, as far as this rank knows them: of one rank each, or of each pair
// [from * ranks + to].
using Sizes = std::vector<std::int64_t>;

} // namespace sonde::tuned
