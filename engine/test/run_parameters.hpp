// The `run` request, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/request.hpp"

namespace sonde {

enum class Test : std::uint8_t { latency, pingpong, stream, duplex, open_loop, collective };

struct RunParameters {
    Test test = Test::latency;
    std::string operation; // of a collective
    int root = 0;          // of a collective
    std::size_t message_bytes = 0;
    std::size_t call_bytes = 0;      // never 0 after reading
    std::uint64_t count = 0;         // 0: by duration
    std::int64_t duration_ns = 0;    // 0: by count
    std::int64_t rate_bit_per_s = 0; // 0: as fast as it goes
    std::int64_t interval_ns = 0;
    bool record_messages = true;
    bool check_data = false;
    std::uint64_t seed = 0;
    std::int64_t start_at_ns = 0; // by the origin's host clock; 0: as soon as both ends are ready
    std::int64_t timeout_ns = 0;

    // The most messages that this run can have; sample buffers are made for it.
    [[nodiscard]] std::uint64_t most_messages() const noexcept;
    // Equal at both ends exactly when both were asked for the same run.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept;
};

// Takes every field of a `run` request; throws Failure("bad_request").
[[nodiscard]] RunParameters read_run_parameters(Fields& fields);

} // namespace sonde
