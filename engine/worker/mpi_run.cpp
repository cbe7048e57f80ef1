#include "worker/mpi_run.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

// Two series of so many samples are 64 MiB; a batch of more is summarised where it was measured.
constexpr std::int64_t usual_keep_samples = 1LL << 22U;
constexpr std::int64_t most_keep_samples = 1LL << 26U;
constexpr std::int64_t last_repetition = (1LL << 24U) - 1;
constexpr std::int64_t most_delay_ns = 10'000'000'000;
constexpr std::int64_t most_outstanding = 1024;
constexpr std::int64_t most_late_ns = 1'000'000'000;
constexpr std::int64_t most_slack_ns = 1'000'000'000;
constexpr std::int64_t most_windows_at_once = 4096;
constexpr std::int64_t most_window_growth = 65'536;

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

constexpr std::array<std::pair<std::string_view, MpiTest>, 4> own_tests{
    {{"collective", MpiTest::collective},
     {"clock", MpiTest::clock},
     {"threads", MpiTest::threads},
     {"all-pairs", MpiTest::all_pairs}}};

void read_test(Fields& fields, MpiRun& run) {
    const std::string name = fields.text("test", 32);
    if (const auto test = test_named(name)) {
        run.test = *test;
        return;
    }
    for (const auto& [known, test] : own_tests) {
        if (name == known) {
            run.mpi_test = test;
            run.test = Test::pingpong; // what each thread plays; no other loop asks for it
            return;
        }
    }
    throw Failure("bad_request", "request: test is " + name +
                                     ", expected latency, pingpong, stream, duplex, open_loop, "
                                     "collective, clock, threads or all-pairs");
}

void read_outstanding(Fields& fields, MpiRun& run) {
    run.outstanding = static_cast<std::size_t>(
        fields.optional_integer("outstanding", 1, most_outstanding).value_or(0));
    if (run.outstanding != 0 && run.test != Test::stream) {
        throw Failure("bad_request", "request: outstanding goes with test stream");
    }
}

// From which memory the target of round trips answers.
void read_echo(Fields& fields, MpiRun& run) {
    const auto echo = fields.optional_text("echo", 32);
    if (!echo) {
        return;
    }
    if (*echo != "same" && *echo != "other") {
        throw Failure("bad_request", "request: echo is " + *echo + ", expected same or other");
    }
    const bool goes_back = run.test == Test::latency || run.test == Test::pingpong;
    const bool has_pairs = run.mpi_test == MpiTest::between_two || run.mpi_test == MpiTest::threads;
    if (!goes_back || !has_pairs) {
        throw Failure("bad_request", "request: echo goes with tests latency, pingpong and threads");
    }
    run.echo_other = *echo == "other";
}

void read_collective(Fields& fields, MpiRun& run) {
    const auto operation = fields.optional_text("operation", 32);
    run.root = static_cast<int>(fields.optional_integer("root", 0, most_ranks - 1).value_or(0));
    run.rotate_root = fields.flag("rotate_root", false);
    run.uneven = fields.flag("uneven", false);
    run.pattern = fields.optional_text("pattern", 16).value_or("half");
    run.distance = static_cast<int>(fields.optional_integer("distance", 1, most_ranks).value_or(1));
    if (operation.has_value() != (run.mpi_test == MpiTest::collective)) {
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
void read_common_clock(Fields& fields, MpiRun& run) {
    const auto start = fields.optional_text("start", 32);
    const auto* const named = std::ranges::find(
        start_names, std::string_view(start.value_or("barrier")), &StartName::first);
    const auto clocks = fields.optional_text("clocks", 32);
    if (named == start_names.end()) {
        throw Failure("bad_request",
                      "request: start is " + *start + ", expected barrier, window or none");
    }
    if (start && run.mpi_test != MpiTest::collective) {
        throw Failure("bad_request", "request: start goes with test collective");
    }
    if (clocks && run.mpi_test != MpiTest::collective && run.mpi_test != MpiTest::clock) {
        throw Failure("bad_request", "request: clocks goes with tests collective and clock");
    }
    if (clocks && *clocks != "known" && *clocks != "apart") {
        throw Failure("bad_request", "request: clocks is " + *clocks + ", expected known or apart");
    }
    if (run.mpi_test == MpiTest::clock && run.count < 2) {
        throw Failure("bad_request", "request: test clock takes a count of 2 or more");
    }
    run.start = named->second;
    run.clocks_apart = clocks == "apart";
}

void read_windows(Fields windows, MpiRun& run) {
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

bool is_round_trip(const MpiRun& run) {
    return run.mpi_test == MpiTest::between_two &&
           (run.test == Test::latency || run.test == Test::pingpong);
}

bool takes_clock(const MpiRun& run) {
    if (run.mpi_test == MpiTest::collective || run.mpi_test == MpiTest::clock) {
        return true;
    }
    return run.clock == ClockMethod::wtime &&
           (is_round_trip(run) || run.test == Test::stream || run.test == Test::duplex);
}

// By what the clocks are put on one, and how many samples are kept of a collective.
void read_clock_method(Fields& fields, MpiRun& run) {
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
    if (run.timer_cost && run.mpi_test != MpiTest::collective && !is_round_trip(run)) {
        throw Failure("bad_request",
                      "request: timer_cost goes with tests collective, latency and pingpong");
    }
    if (run.clock == ClockMethod::wtime && run.start == StartBy::window) {
        throw Failure("bad_request", "request: clock wtime and start window do not go together");
    }
    if (fields.has("keep_samples") && run.mpi_test != MpiTest::collective) {
        throw Failure("bad_request", "request: keep_samples goes with test collective");
    }
    run.keep_samples = static_cast<std::uint64_t>(
        fields.optional_integer("keep_samples", 0, most_keep_samples).value_or(usual_keep_samples));
}

void read_delay(Fields delay, MpiRun& run) {
    if (run.mpi_test != MpiTest::collective) {
        throw Failure("bad_request", "request: delay goes with test collective");
    }
    run.delay.rank = static_cast<int>(delay.integer("rank", 0, most_ranks - 1));
    run.delay.repetition =
        static_cast<std::uint64_t>(delay.integer("repetition", 0, last_repetition));
    run.delay.time_ns = delay.integer("time_ns", 1, most_delay_ns);
    delay.finish();
    if (run.delay.repetition >= run.count) {
        throw Failure("bad_request",
                      "request: delay: repetition " + std::to_string(run.delay.repetition) +
                          " does not come in a count of " + std::to_string(run.count));
    }
}

} // namespace

MpiRun read_mpi_run(Fields& fields) {
    MpiRun run;
    read_test(fields, run);
    read_common_parameters(fields, run);
    read_collective(fields, run);
    run.choices = read_choices(fields, run.mpi_test == MpiTest::collective);
    run.pair = read_pair(fields, run.is_between_two());
    run.threads = read_threads(fields, run.mpi_test == MpiTest::threads, run.count);
    run.asked = read_asked(fields, run.mpi_test == MpiTest::all_pairs, run.count);
    read_outstanding(fields, run);
    read_echo(fields, run);
    read_common_clock(fields, run);
    if (fields.has("windows")) {
        read_windows(fields.object("windows"), run);
    }
    if (fields.has("delay")) {
        read_delay(fields.object("delay"), run);
    }
    read_clock_method(fields, run);
    fields.finish();
    return run;
}

} // namespace sonde
