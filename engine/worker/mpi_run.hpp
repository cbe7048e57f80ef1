// The `run` request of an MPI program, checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/operation_choices.hpp"
#include "collective/start_by.hpp"
#include "core/request.hpp"
#include "test/all_pairs.hpp"
#include "test/run_parameters.hpp"
#include "transport/mpi/clock_method.hpp"
#include "worker/mpi_choices.hpp"

namespace sonde {

enum class MpiTest : std::uint8_t {
    between_two, // a test that other transports have as well: RunParameters::test
    threads,
    all_pairs,
    collective,
    clock
};

// A rank that begins a repetition of a collective late on purpose, so that the truth is known.
struct InjectedDelay {
    int rank = -1; // nobody
    std::uint64_t repetition = 0;
    std::int64_t time_ns = 0;
};

struct MpiRun : RunParameters {
    MpiTest mpi_test = MpiTest::between_two;
    std::array<int, 2> pair{0, 1}; // the ranks that a test between two is between
    std::size_t outstanding = 0;   // messages on their way at once; 0: calls block
    ThreadChoices threads;
    std::vector<AskedPair> asked; // of test all-pairs
    // Of test collective.
    std::string operation;
    int root = 0;
    bool rotate_root = false;
    bool uneven = false;
    std::string pattern;
    int distance = 1;
    OperationChoices choices;
    StartBy start = StartBy::barrier;
    WindowBounds windows; // of start window
    InjectedDelay delay;
    std::uint64_t keep_samples = 0; // repetitions of all ranks that are kept one by one, at most
    bool clocks_apart = false;      // also of test clock: compare as if every rank had its own
    // Also of test clock; wtime also of tests between two ranks.
    ClockMethod clock = ClockMethod::tree;
    bool timer_cost = false; // how long a reading of the timer takes is told with the samples

    [[nodiscard]] bool is_between_two() const noexcept {
        return mpi_test == MpiTest::between_two || mpi_test == MpiTest::threads;
    }
};

// Takes every field of a `run` request; throws Failure("bad_request").
[[nodiscard]] MpiRun read_mpi_run(Fields& fields);

} // namespace sonde
