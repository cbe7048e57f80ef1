// The `run` request, checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/clock_method.hpp"
#include "core/meeting_parameters.hpp"
#include "core/operation_choices.hpp"
#include "core/request.hpp"
#include "core/start_by.hpp"

namespace sonde {

enum class Test : std::uint8_t {
    latency,
    pingpong,
    stream,
    duplex,
    open_loop,
    collective,
    clock,
    threads
};

// A rank that begins a repetition of a collective late on purpose, so that the truth is known.
struct InjectedDelay {
    int rank = -1; // nobody
    std::uint64_t repetition = 0;
    std::int64_t time_ns = 0;
};

struct RunParameters {
    Test test = Test::latency;
    // Of test collective.
    std::string operation;
    int root = 0;
    bool rotate_root = false;
    bool uneven = false;
    std::string pattern;
    int distance = 1;
    OperationChoices choices;
    std::array<int, 2> pair{0, 1}; // the ranks of MPI that a test between two is between
    ThreadChoices threads;
    StartBy start = StartBy::barrier;
    WindowBounds windows; // of start window
    InjectedDelay delay;
    bool clocks_apart = false; // also of test clock: compare as if every rank had its own
    // Also of test clock; wtime also of tests between two ranks.
    ClockMethod clock = ClockMethod::tree;
    bool timer_cost = false; // how long a reading of the timer takes is told with the samples
    std::uint64_t keep_samples = 0; // repetitions of all ranks that are kept one by one, at most
    std::size_t message_bytes = 0;
    std::size_t call_bytes = 0;      // never 0 after reading
    std::uint64_t count = 0;         // 0: by duration
    std::int64_t duration_ns = 0;    // 0: by count
    std::uint64_t least_count = 0;   // by duration, and until so many were sent
    std::int64_t rate_bit_per_s = 0; // 0: as fast as it goes
    std::size_t outstanding = 0;     // messages on their way at once; 0: calls block
    std::int64_t interval_ns = 0;
    bool record_messages = true;
    bool system_counters = true; // read around the run; else only what the worker itself used
    bool check_data = false;
    std::uint64_t seed = 0;
    std::uint64_t rounds = 0;     // of count messages each, begun together; 0: no rounds
    MeetingParameters meeting;    // of a target with rounds
    std::int64_t settle_ns = 0;   // the ends exchange frames for so long before they start
    std::int64_t start_at_ns = 0; // by the origin's host clock; 0: as soon as both ends are ready
    std::int64_t timeout_ns = 0;

    // The most messages that this run can have; sample buffers are made for it.
    [[nodiscard]] std::uint64_t most_messages() const noexcept;
    // Equal at both ends exactly when both were asked for the same run.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept;
};

// Takes every field of a `run` request; throws Failure("bad_request").
[[nodiscard]] RunParameters read_run_parameters(Fields& fields);
// The same over sockets: what only MPI has is refused. Throws Failure("bad_request").
[[nodiscard]] RunParameters read_socket_run_parameters(Fields& fields);

} // namespace sonde
