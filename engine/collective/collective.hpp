// MPI operations, measured one by one: all ranks start together, by a barrier or at an agreed
// instant, and each times its own stay in the operation (Hpcbench, section 3.6: a barrier keeps
// repetitions from running into each other; a late rank shows in the others' times, so every rank's
// times are kept).
//
// The operations themselves are entries of tables: see entry.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collective/operation_choices.hpp"
#include "collective/start_by.hpp"
#include "core/lead.hpp"

namespace sonde {
class Timebase;
}

namespace sonde::collective {

struct Entry;

struct Setup {
    std::string operation;
    std::size_t message_bytes = 0; // of what: docs/methods/collectives.md, one row per operation
    std::size_t count = 0;         // repetitions
    int root = 0;
    bool rotate_root = false;     // repetition i has the root (root + i) mod ranks
    bool uneven = false;          // parts of different sizes, where an operation takes any
    std::string pattern = "half"; // who is whose partner: partners.hpp
    int distance = 1;
    bool check_data = false;
    std::uint64_t seed = 0;
    MPI_Comm communicator = MPI_COMM_NULL;
    int rank = 0;
    int ranks = 1;
    StartBy start = StartBy::barrier;
    WindowBounds windows = {};
    std::size_t delayed_repetition = 0; // begun so much later here, on purpose
    std::int64_t delay_ns = 0;          // 0: none
    bool by_wtime = false;              // the time is MPI_Wtime's; not with windows
    OperationChoices choices = {};
};

struct Result {
    std::vector<std::int64_t> begin_ns; // since start_ns, one per repetition
    std::vector<std::int64_t> duration_ns;
    std::vector<std::int64_t> late_ns; // after the window's begin; empty without windows
    std::int64_t window_ns = 0;        // at the end, as
    std::int64_t slack_ns = 0;         // from the agreement to the first of several windows,
    std::int64_t windows_at_once = 0;  // and how many these are
    std::int64_t delayed_ns = 0;       // what Setup's delay_ns came to
    std::int64_t start_ns = 0;         // CLOCK_MONOTONIC, or MPI_Wtime
    std::int64_t end_ns = 0;
    std::int64_t corrupt = 0; // repetitions that left wrong data here; 0 without check_data
    int cpu = 0;              // CPU at the end
    std::int64_t least_bytes_sent = 0; // payload that this rank must have sent at least
    int partner = -1;                  // whom this rank sends to; -1: nobody, or not between two
    std::int64_t messages = 0;         // sent by this rank in each repetition, where they count
    std::int64_t cold_bytes = 0;       // walked through, or taken in turns; 0 with warm caches
    std::map<std::string, std::int64_t> frames;  // counted here, where a schedule went over frames
    std::vector<std::int64_t> compute_ns;        // of overlap, as durations
    std::vector<std::int64_t> together_ns;       // the operation and the computation in it
    std::vector<std::int64_t> wtime_duration_ns; // of both timers, the same calls by MPI_Wtime
};

// An operation with all its memory, ready to be timed.
class Measurement {
public:
    virtual ~Measurement() = default;
    // All ranks together. `lead`: this rank's clock over rank 0's, for window starts.
    [[nodiscard]] virtual Result run(Timebase& timebase, const LeadLine& lead) = 0;
};

// Throws Failure("bad_request") for what the operation cannot do or this MPI library has not,
// Failure("no_memory"). Nothing is sent.
[[nodiscard]] std::unique_ptr<Measurement> prepare(const Setup& setup);
// The same for an entry that need not be in any table.
[[nodiscard]] std::unique_ptr<Measurement> prepare(const Setup& setup, const Entry& entry);

// All operations, one JSON object a line: what netsonde's own list of them is tested against.
[[nodiscard]] std::string operations_as_json_lines();

} // namespace sonde::collective
