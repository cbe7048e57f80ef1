#include "test/run_parameters.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t most_message_bytes = 4'294'967'296;
constexpr std::int64_t most_call_bytes = 1'073'741'824;
constexpr std::int64_t most_count = 1LL << 24U;
// A run by duration ends early when it has this many samples; 32 MiB for each series.
constexpr std::uint64_t most_samples_by_duration = 1ULL << 22U;
constexpr std::uint64_t least_samples_by_duration = 1ULL << 10U;
// No single flow moves more than 400 Gbit/s or 20 million messages a second: memory for more need
// not be touched.
constexpr double most_bytes_per_ns = 50.0;
constexpr double least_message_ns = 50.0;
// Without samples a run is bounded by the receiver's bitmap of sequence numbers: 128 MiB.
constexpr std::uint64_t most_unrecorded_messages = 1ULL << 30U;
constexpr std::int64_t default_call_bytes = 131'072;
constexpr std::int64_t default_interval_ns = 100'000'000;

constexpr std::int64_t most_rounds = 65'536;
constexpr std::int64_t most_members = 512;

constexpr std::array<std::pair<std::string_view, Test>, 7> test_names{{
    {"latency", Test::latency},
    {"pingpong", Test::pingpong},
    {"stream", Test::stream},
    {"duplex", Test::duplex},
    {"open_loop", Test::open_loop},
    {"bounds", Test::bounds},
    {"overheads", Test::overheads},
}};
constexpr std::int64_t most_wait_ns = 1'000'000'000;

void read_extent(Fields& fields, RunParameters& run) {
    const auto count = fields.optional_integer("count", 1, most_count);
    const auto duration_ns = fields.optional_integer("duration_ns", 1'000'000, 3'600'000'000'000);
    if (count.has_value() == duration_ns.has_value()) {
        throw Failure("bad_request", "request: expected exactly one of count and duration_ns");
    }
    if (duration_ns && run.test != Test::stream && run.test != Test::duplex) {
        throw Failure("bad_request", "request: this test takes count, not duration_ns");
    }
    run.count = static_cast<std::uint64_t>(count.value_or(0));
    run.duration_ns = duration_ns.value_or(0);
}

void read_meeting(Fields meeting, MeetingParameters& found) {
    found.name = meeting.text("name", 32);
    if (found.name.size() != 32 ||
        found.name.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw Failure("bad_request", "request: meeting: expected a name of 32 hexadecimal digits");
    }
    found.members = static_cast<int>(meeting.integer("members", 1, most_members));
    found.leads = meeting.flag("leads", false);
    found.lead_ns = meeting.integer("lead_ns", 0, 10'000'000'000);
    found.most_ns = meeting.integer("most_ns", 1'000'000, 3'600'000'000'000);
    meeting.finish();
}

void read_rounds(Fields& fields, RunParameters& run) {
    const auto rounds = fields.optional_integer("rounds", 1, most_rounds);
    const bool meets = fields.has("meeting");
    if (meets) {
        read_meeting(fields.object("meeting"), run.meeting);
    }
    if (meets && !rounds) {
        throw Failure("bad_request", "request: meeting goes with rounds");
    }
    if (rounds && (run.test != Test::stream || run.count == 0)) {
        throw Failure("bad_request", "request: rounds go with test stream and count");
    }
    if (rounds) {
        run.rounds = static_cast<std::uint64_t>(*rounds);
        run.record_messages = false; // each round has its times
    }
}

void read_wait(Fields& fields, RunParameters& run) {
    const auto wait_ns = fields.optional_integer("wait_ns", 1, most_wait_ns);
    if (wait_ns.has_value() != (run.test == Test::overheads)) {
        throw Failure("bad_request", "request: wait_ns goes with test overheads, which needs it");
    }
    run.wait_ns = wait_ns.value_or(0);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
    return hash * 0xBF58476D1CE4E5B9ULL;
}

Test read_test(Fields& fields) {
    const std::string name = fields.text("test", 32);
    if (const auto test = test_named(name)) {
        return *test;
    }
    throw Failure("bad_request", "request: test is " + name +
                                     ", expected latency, pingpong, stream, duplex, open_loop or "
                                     "overheads; others need MPI");
}

} // namespace

std::optional<Test> test_named(std::string_view name) noexcept {
    for (const auto& [known, test] : test_names) {
        if (name == known) {
            return test;
        }
    }
    return std::nullopt;
}

std::uint64_t RunParameters::most_messages() const noexcept {
    if (count != 0) {
        return count;
    }
    const double least_ns =
        std::max(least_message_ns, static_cast<double>(message_bytes) / most_bytes_per_ns);
    const double carried = static_cast<double>(duration_ns) / least_ns;
    const std::uint64_t most =
        record_messages ? most_samples_by_duration : most_unrecorded_messages;
    return std::max(
        std::clamp(static_cast<std::uint64_t>(carried), least_samples_by_duration, most),
        least_count);
}

std::uint64_t RunParameters::fingerprint() const noexcept {
    auto hash = static_cast<std::uint64_t>(test);
    hash = mix(hash, message_bytes);
    hash = mix(hash, call_bytes);
    hash = mix(hash, count);
    hash = mix(hash, least_count);
    hash = mix(hash, rounds);
    hash = mix(hash, static_cast<std::uint64_t>(duration_ns));
    hash = mix(hash, static_cast<std::uint64_t>(rate_bit_per_s));
    hash = mix(hash, (record_messages ? 1U : 0U) + (check_data ? 2U : 0U) + (echo_other ? 4U : 0U));
    hash = mix(hash, static_cast<std::uint64_t>(wait_ns));
    return mix(hash, seed);
}

void read_common_parameters(Fields& fields, RunParameters& run) {
    const std::int64_t message_bytes = fields.integer("message_bytes", 0, most_message_bytes);
    run.message_bytes = static_cast<std::size_t>(message_bytes);
    // A latency message is one call unless told otherwise; a large one is cut as programs do.
    const std::int64_t usual_call_bytes =
        run.test == Test::latency ? message_bytes : std::min(message_bytes, default_call_bytes);
    run.call_bytes =
        static_cast<std::size_t>(fields.optional_integer("call_bytes", 1, most_call_bytes)
                                     .value_or(std::max<std::int64_t>(usual_call_bytes, 1)));
    read_extent(fields, run);
    run.rate_bit_per_s =
        fields.optional_integer("rate_bit_per_s", 1'000, 1'000'000'000'000).value_or(0);
    run.interval_ns = fields.optional_integer("interval_ns", 1'000'000, 60'000'000'000)
                          .value_or(default_interval_ns);
    run.record_messages = fields.flag("record_messages", true);
    run.system_counters = fields.flag("system_counters", true);
    run.check_data = fields.flag("check_data", false);
    run.seed = static_cast<std::uint64_t>(
        fields.optional_integer("seed", 0, 9'007'199'254'740'991).value_or(0));
    run.settle_ns = fields.optional_integer("settle_ns", 0, 1'000'000'000).value_or(0);
    run.start_at_ns =
        fields.optional_integer("start_at_ns", 1, std::numeric_limits<std::int64_t>::max())
            .value_or(0);
    run.silent_start = fields.flag("silent_start", false);
    if (run.silent_start && run.start_at_ns == 0) {
        throw Failure("bad_request", "request: silent_start goes with start_at_ns");
    }
    read_wait(fields, run);
    run.timeout_ns = take_timeout(fields);
}

RunParameters read_socket_run_parameters(Fields& fields) {
    // Nothing of MPI is known here; these a test between two ends might seem to have everywhere.
    for (const std::string_view name : {"pair", "outstanding", "echo", "clock", "timer_cost"}) {
        if (fields.has(name)) {
            throw Failure("bad_request",
                          "request: " + std::string(name) + " is for MPI, not for sockets");
        }
    }
    RunParameters run;
    run.test = read_test(fields);
    read_common_parameters(fields, run);
    read_rounds(fields, run);
    const auto least_count = fields.optional_integer("least_count", 1, most_count);
    if (least_count && run.duration_ns == 0) {
        throw Failure("bad_request", "request: least_count goes with duration_ns");
    }
    run.least_count = static_cast<std::uint64_t>(least_count.value_or(0));
    fields.finish();
    return run;
}

} // namespace sonde
