// Collective operations, measured one by one: all ranks pass a barrier, and each times its own stay
// in the operation (Hpcbench, section 3.6: the barrier keeps repetitions from running into each
// other; a late rank shows in the others' times, so every rank's times are kept).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {
class Timebase;
}

namespace sonde::collective {

struct Setup {
    std::string operation;
    // bcast: bytes of the whole message; allreduce: of the vector; alltoall: for each destination;
    // barrier: 0.
    std::size_t message_bytes = 0;
    std::size_t count = 0; // repetitions
    int root = 0;          // bcast only
    bool check_data = false;
    std::uint64_t seed = 0;
    MPI_Comm communicator = MPI_COMM_NULL;
    int rank = 0;
    int ranks = 1;
};

struct Result {
    std::vector<std::int64_t> begin_ns; // since start_ns, one per repetition
    std::vector<std::int64_t> duration_ns;
    std::int64_t start_ns = 0; // CLOCK_MONOTONIC
    std::int64_t end_ns = 0;
    std::int64_t corrupt = 0; // repetitions that left wrong data here; 0 without check_data
    int cpu = 0;              // processor at the end
    std::int64_t least_bytes_sent = 0; // payload that this rank must have sent at least
};

// An operation with all its memory, ready to be timed.
class Measurement {
public:
    virtual ~Measurement() = default;
    // All ranks together.
    [[nodiscard]] virtual Result run(Timebase& timebase) = 0;
};

// Throws Failure("bad_request") for what the operation cannot do, Failure("no_memory").
// Nothing is sent.
[[nodiscard]] std::unique_ptr<Measurement> prepare(const Setup& setup);

// "allreduce, alltoall, barrier, bcast"
[[nodiscard]] std::string known_operations();

} // namespace sonde::collective
