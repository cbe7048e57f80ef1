// The `run` request, checked: what every run has, whatever carries it, and what sockets have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/request.hpp"
#include "test/meeting_parameters.hpp"

namespace sonde {

enum class Test : std::uint8_t { latency, pingpong, stream, duplex, open_loop, bounds, overheads };

// None where no test between two ends is called so.
[[nodiscard]] std::optional<Test> test_named(std::string_view name) noexcept;

struct RunParameters {
    Test test = Test::latency;
    std::size_t message_bytes = 0;
    std::size_t call_bytes = 0;      // never 0 after reading
    std::uint64_t count = 0;         // 0: by duration
    std::int64_t duration_ns = 0;    // 0: by count
    std::uint64_t least_count = 0;   // by duration, and until so many were sent
    std::int64_t rate_bit_per_s = 0; // 0: as fast as it goes
    std::int64_t interval_ns = 0;
    bool record_messages = true;
    bool system_counters = true; // read around the run; else only what the worker itself used
    bool check_data = false;
    // The target answers from memory of its own, not with what it received.
    bool echo_other = false;
    std::uint64_t seed = 0;
    std::uint64_t rounds = 0;     // of count messages each, begun together; 0: no rounds
    MeetingParameters meeting;    // of a target with rounds
    std::int64_t settle_ns = 0;   // the ends exchange frames for so long before they start
    std::int64_t start_at_ns = 0; // by the origin's host clock; 0: as soon as both ends are ready
    // Whoever has waited for start_at_ns says so beforehand: nothing of the control connection is
    // on its way while the messages leave.
    bool silent_start = false;
    std::int64_t wait_ns = 0; // of overheads: from a message to the call that takes its answer
    std::int64_t timeout_ns = 0;

    // The most messages that this run can have; sample buffers are made for it.
    [[nodiscard]] std::uint64_t most_messages() const noexcept;
    // Equal at both ends exactly when both were asked for the same run.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept;
};

// Takes the fields that a run has whatever carries it, for run.test, which is known already.
// Throws Failure("bad_request").
void read_common_parameters(Fields& fields, RunParameters& run);
// Takes every field of a `run` request over sockets; throws Failure("bad_request").
[[nodiscard]] RunParameters read_socket_run_parameters(Fields& fields);

} // namespace sonde
