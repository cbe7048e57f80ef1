#include "test/run_parameters.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "core/failure.hpp"
#include "test/read_choices.hpp"

namespace sonde {
namespace {

constexpr std::int64_t most_message_bytes = 4'294'967'296;
constexpr std::int64_t most_call_bytes = 1'073'741'824;
constexpr std::int64_t most_count = 1LL << 24U;
// A run by duration ends early when it has this many samples; 32 MiB for each series.
constexpr std::uint64_t most_samples_by_duration = 1ULL << 22U;
constexpr std::uint64_t least_samples_by_duration = 1ULL << 10U;
// No single flow moves more than 400 Gbit/s: memory for more need not be touched.
constexpr double most_bytes_per_ns = 50.0;
// Without samples a run is bounded by the receiver's bitmap of sequence numbers: 128 MiB.
constexpr std::uint64_t most_unrecorded_messages = 1ULL << 30U;
constexpr std::int64_t default_call_bytes = 131'072;
constexpr std::int64_t default_interval_ns = 100'000'000;

// Two series of so many samples are 64 MiB; a batch of more is summarised where it was measured.
constexpr std::int64_t usual_keep_samples = 1LL << 22U;
constexpr std::int64_t most_keep_samples = 1LL << 26U;
constexpr std::int64_t most_rounds = 65'536;
constexpr std::int64_t most_members = 512;
constexpr std::int64_t most_delay_ns = 10'000'000'000;
constexpr std::int64_t most_outstanding = 1024;
constexpr std::int64_t most_late_ns = 1'000'000'000;
constexpr std::int64_t most_slack_ns = 1'000'000'000;
constexpr std::int64_t most_windows_at_once = 4096;
constexpr std::int64_t most_window_growth = 65'536;

constexpr std::array<std::pair<std::string_view, Test>, 8> test_names{{
    {"latency", Test::latency},
    {"pingpong", Test::pingpong},
    {"stream", Test::stream},
    {"duplex", Test::duplex},
    {"open_loop", Test::open_loop},
    {"collective", Test::collective},
    {"clock", Test::clock},
    {"threads", Test::threads},
}};

using StartName = std::pair<std::string_view, StartBy>;
constexpr std::array<StartName, 3> start_names{
    {{"barrier", StartBy::barrier}, {"window", StartBy::window}, {"none", StartBy::none}}};

using ClockName = std::pair<std::string_view, ClockMethod>;
constexpr std::array<ClockName, 4> clock_names{{{"tree", ClockMethod::tree},
                                                {"offset", ClockMethod::offset},
                                                {"wtime", ClockMethod::wtime},
                                                {"jones_koenig", ClockMethod::jones_koenig}}};

// Which operations there are is the collective part's to know.
constexpr std::string_view operation_letters = "abcdefghijklmnopqrstuvwxyz_";
constexpr std::array<std::string_view, 6> pattern_names{"half",         "pairs",      "ring",
                                                        "head-to-head", "all-to-one", "list"};
constexpr std::int64_t most_ranks = 1'048'576;

Test read_test(Fields& fields) {
    const std::string name = fields.text("test", 32);
    for (const auto& [known, test] : test_names) {
        if (name == known) {
            return test;
        }
    }
    throw Failure("bad_request", "request: test is " + name +
                                     ", expected latency, pingpong, stream, duplex, open_loop, "
                                     "collective, clock or threads");
}

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

void read_collective(Fields& fields, RunParameters& run) {
    const auto operation = fields.optional_text("operation", 32);
    run.root = static_cast<int>(fields.optional_integer("root", 0, most_ranks - 1).value_or(0));
    run.rotate_root = fields.flag("rotate_root", false);
    run.uneven = fields.flag("uneven", false);
    run.pattern = fields.optional_text("pattern", 16).value_or("half");
    run.distance = static_cast<int>(fields.optional_integer("distance", 1, most_ranks).value_or(1));
    if (operation.has_value() != (run.test == Test::collective)) {
        throw Failure("bad_request", "request: operation goes with test collective");
    }
    run.operation = operation.value_or("");
    if (operation && (operation->empty() ||
                      operation->find_first_not_of(operation_letters) != std::string::npos)) {
        throw Failure("bad_request", "request: operation is " + *operation +
                                         ", expected small letters and _ only");
    }
    if (std::ranges::find(pattern_names, run.pattern) == pattern_names.end()) {
        throw Failure("bad_request",
                      "request: pattern is " + run.pattern +
                          ", expected half, pairs, ring, head-to-head, all-to-one or list");
    }
    if (run.distance != 1 && run.pattern != "ring") {
        throw Failure("bad_request", "request: distance goes with pattern ring");
    }
}

// How ranks of MPI start together, and how their clocks are compared for it.
void read_common_clock(Fields& fields, RunParameters& run) {
    const auto start = fields.optional_text("start", 32);
    const auto* const named = std::ranges::find(
        start_names, std::string_view(start.value_or("barrier")), &StartName::first);
    const auto clocks = fields.optional_text("clocks", 32);
    if (named == start_names.end()) {
        throw Failure("bad_request",
                      "request: start is " + *start + ", expected barrier, window or none");
    }
    if (start && run.test != Test::collective) {
        throw Failure("bad_request", "request: start goes with test collective");
    }
    if (clocks && run.test != Test::collective && run.test != Test::clock) {
        throw Failure("bad_request", "request: clocks goes with tests collective and clock");
    }
    if (clocks && *clocks != "known" && *clocks != "apart") {
        throw Failure("bad_request", "request: clocks is " + *clocks + ", expected known or apart");
    }
    if (run.test == Test::clock && run.count < 2) {
        throw Failure("bad_request", "request: test clock takes a count of 2 or more");
    }
    run.start = named->second;
    run.clocks_apart = clocks == "apart";
}

void read_windows(Fields windows, RunParameters& run) {
    if (run.start != StartBy::window) {
        throw Failure("bad_request", "request: windows go with start window");
    }
    WindowBounds& found = run.windows;
    found.late_ns = windows.optional_integer("late_ns", 0, most_late_ns).value_or(found.late_ns);
    found.late_most_ns = windows.optional_integer("late_most_ns", found.late_ns, most_late_ns)
                             .value_or(std::max(found.late_ns, found.late_most_ns));
    found.at_once = static_cast<int>(
        windows.optional_integer("at_once", 1, most_windows_at_once).value_or(found.at_once));
    found.growth = static_cast<int>(
        windows.optional_integer("growth", 1, most_window_growth).value_or(found.growth));
    found.slack_ns =
        windows.optional_integer("slack_ns", 1'000, most_slack_ns).value_or(found.slack_ns);
    windows.finish();
}

bool is_round_trip(Test test) { return test == Test::latency || test == Test::pingpong; }

bool takes_clock(const RunParameters& run) {
    if (run.test == Test::collective || run.test == Test::clock) {
        return true;
    }
    const bool between_two =
        is_round_trip(run.test) || run.test == Test::stream || run.test == Test::duplex;
    return run.clock == ClockMethod::wtime && between_two;
}

// By what the clocks are put on one, and how many samples are kept of a collective.
void read_clock_method(Fields& fields, RunParameters& run) {
    const auto clock = fields.optional_text("clock", 32);
    const auto* const named =
        std::ranges::find(clock_names, std::string_view(clock.value_or("tree")), &ClockName::first);
    if (named == clock_names.end()) {
        throw Failure("bad_request", "request: clock is " + *clock +
                                         ", expected tree, offset, wtime or jones_koenig");
    }
    run.clock = named->second;
    if (clock && !takes_clock(run)) {
        throw Failure("bad_request", "request: clock goes with tests collective and clock; wtime "
                                     "with latency, pingpong, stream and duplex over MPI as well");
    }
    run.timer_cost = fields.flag("timer_cost", false);
    if (run.timer_cost && run.test != Test::collective && !is_round_trip(run.test)) {
        throw Failure("bad_request",
                      "request: timer_cost goes with tests collective, latency and pingpong");
    }
    if (run.clock == ClockMethod::wtime && run.start == StartBy::window) {
        throw Failure("bad_request", "request: clock wtime and start window do not go together");
    }
    if (fields.has("keep_samples") && run.test != Test::collective) {
        throw Failure("bad_request", "request: keep_samples goes with test collective");
    }
    run.keep_samples = static_cast<std::uint64_t>(
        fields.optional_integer("keep_samples", 0, most_keep_samples).value_or(usual_keep_samples));
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

void read_delay(Fields delay, RunParameters& run) {
    if (run.test != Test::collective) {
        throw Failure("bad_request", "request: delay goes with test collective");
    }
    run.delay.rank = static_cast<int>(delay.integer("rank", 0, most_ranks - 1));
    run.delay.repetition =
        static_cast<std::uint64_t>(delay.integer("repetition", 0, most_count - 1));
    run.delay.time_ns = delay.integer("time_ns", 1, most_delay_ns);
    delay.finish();
    if (run.delay.repetition >= run.count) {
        throw Failure("bad_request",
                      "request: delay: repetition " + std::to_string(run.delay.repetition) +
                          " does not come in a count of " + std::to_string(run.count));
    }
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
    return hash * 0xBF58476D1CE4E5B9ULL;
}

} // namespace

std::uint64_t RunParameters::most_messages() const noexcept {
    if (count != 0) {
        return count;
    }
    if (!record_messages) {
        return most_unrecorded_messages;
    }
    const double carried = static_cast<double>(duration_ns) * most_bytes_per_ns /
                           static_cast<double>(std::max<std::size_t>(message_bytes, 1));
    return std::max(std::clamp(static_cast<std::uint64_t>(carried), least_samples_by_duration,
                               most_samples_by_duration),
                    least_count);
}

std::uint64_t RunParameters::fingerprint() const noexcept {
    auto hash = static_cast<std::uint64_t>(test);
    for (const char letter : operation + " " + pattern) {
        hash = mix(hash, static_cast<unsigned char>(letter));
    }
    hash = mix(hash, static_cast<std::uint64_t>(root));
    hash = mix(hash, static_cast<std::uint64_t>(distance));
    hash = mix(hash, (rotate_root ? 1U : 0U) + (uneven ? 2U : 0U));
    hash = mix(hash, message_bytes);
    hash = mix(hash, call_bytes);
    hash = mix(hash, count);
    hash = mix(hash, least_count);
    hash = mix(hash, rounds);
    hash = mix(hash, static_cast<std::uint64_t>(duration_ns));
    hash = mix(hash, static_cast<std::uint64_t>(rate_bit_per_s));
    hash = mix(hash, outstanding);
    hash = mix(hash, 2 * threads.count + (threads.share_communicator ? 1U : 0U));
    hash = mix(hash, (record_messages ? 1U : 0U) + (check_data ? 2U : 0U));
    return mix(hash, seed);
}

RunParameters read_run_parameters(Fields& fields) {
    RunParameters run;
    run.test = read_test(fields);
    read_collective(fields, run);
    run.choices = read_choices(fields, run.test == Test::collective);
    run.pair = read_pair(fields, run.test != Test::collective && run.test != Test::clock);
    const std::int64_t message_bytes = fields.integer("message_bytes", 0, most_message_bytes);
    run.message_bytes = static_cast<std::size_t>(message_bytes);
    // A latency message is one call unless told otherwise; a large one is cut as programs do.
    const std::int64_t usual_call_bytes =
        run.test == Test::latency ? message_bytes : std::min(message_bytes, default_call_bytes);
    run.call_bytes =
        static_cast<std::size_t>(fields.optional_integer("call_bytes", 1, most_call_bytes)
                                     .value_or(std::max<std::int64_t>(usual_call_bytes, 1)));
    read_extent(fields, run);
    run.threads = read_threads(fields, run.test == Test::threads, run.count);
    run.rate_bit_per_s =
        fields.optional_integer("rate_bit_per_s", 1'000, 1'000'000'000'000).value_or(0);
    run.outstanding = static_cast<std::size_t>(
        fields.optional_integer("outstanding", 1, most_outstanding).value_or(0));
    if (run.outstanding != 0 && run.test != Test::stream) {
        throw Failure("bad_request", "request: outstanding goes with test stream");
    }
    run.interval_ns = fields.optional_integer("interval_ns", 1'000'000, 60'000'000'000)
                          .value_or(default_interval_ns);
    read_common_clock(fields, run);
    if (fields.has("windows")) {
        read_windows(fields.object("windows"), run);
    }
    if (fields.has("delay")) {
        read_delay(fields.object("delay"), run);
    }
    read_clock_method(fields, run);
    run.record_messages = fields.flag("record_messages", true);
    read_rounds(fields, run);
    run.system_counters = fields.flag("system_counters", true);
    run.check_data = fields.flag("check_data", false);
    run.seed = static_cast<std::uint64_t>(
        fields.optional_integer("seed", 0, 9'007'199'254'740'991).value_or(0));
    run.settle_ns = fields.optional_integer("settle_ns", 0, 1'000'000'000).value_or(0);
    run.start_at_ns =
        fields.optional_integer("start_at_ns", 1, std::numeric_limits<std::int64_t>::max())
            .value_or(0);
    run.timeout_ns = take_timeout(fields);
    fields.finish();
    return run;
}

RunParameters read_socket_run_parameters(Fields& fields) {
    for (const std::string_view name : {"pair", "outstanding", "clock", "timer_cost"}) {
        if (fields.has(name)) {
            throw Failure("bad_request",
                          "request: " + std::string(name) + " is for MPI, not for sockets");
        }
    }
    const auto least_count = fields.optional_integer("least_count", 1, most_count);
    RunParameters run = read_run_parameters(fields);
    if (least_count && run.duration_ns == 0) {
        throw Failure("bad_request", "request: least_count goes with duration_ns");
    }
    run.least_count = static_cast<std::uint64_t>(least_count.value_or(0));
    return run;
}

} // namespace sonde
