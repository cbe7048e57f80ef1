#include "worker/host_benchmark_verbs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.hpp"
#include "host_benchmarks/clocks.hpp"
#include "host_benchmarks/context_switches.hpp"
#include "host_benchmarks/copies.hpp"
#include "host_benchmarks/hint_run.hpp"
#include "host_benchmarks/quanta.hpp"
#include "host_benchmarks/sleeps.hpp"
#include "test/result.hpp"

namespace sonde {

using nlohmann::json;

namespace {

constexpr std::int64_t most_readings = 1'000'000;
constexpr std::int64_t most_sleeps = 10'000;
constexpr std::int64_t longest_sleep_ns = 1'000'000'000; // an interruption waits for its end
constexpr std::int64_t shortest_quantum_ns = 1'000;
constexpr std::int64_t longest_quantum_ns = 100'000'000;
constexpr std::int64_t most_measurements = 1'000'000;
constexpr std::int64_t most_bytes_copied = 268'435'456;
constexpr std::int64_t most_arena_bytes = 2'147'483'648;
constexpr std::int64_t most_processors = 65'536;
constexpr std::int64_t most_subintervals = 16'777'216;
constexpr std::int64_t most_threads = 1'024;
constexpr std::int64_t longest_burn_ns = 86'400'000'000'000;
constexpr std::int64_t most_nice = 19;
constexpr double gap_unit = 1e-18;

json values_of(const ClockFound& found) {
    json values{{"present", found.absent.empty()},
                {"steps", found.steps},
                {"steps_back", found.steps_back}};
    if (!found.absent.empty()) {
        values["absent_because"] = found.absent;
    }
    if (found.smallest_step_ns) {
        values["smallest_step_ns"] = *found.smallest_step_ns;
    }
    if (found.stated_resolution_ns) {
        values["stated_resolution_ns"] = *found.stated_resolution_ns;
    }
    return values;
}

bool take_cold(Fields& fields, std::string_view end) {
    const std::string state = fields.text(end, 8);
    if (state != "warm" && state != "cold") {
        throw Failure("bad_request",
                      "request: " + std::string(end) + " is " + state + ", expected warm or cold");
    }
    return state == "cold";
}

} // namespace

json answer_read_clock(Request& request, RecordWriter& records, Timebase& timebase, Guard& guard) {
    const std::string name = request.fields.text("clock", 32);
    const auto count = static_cast<std::size_t>(request.fields.integer("count", 1, most_readings));
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard, timeout_ns, [] {});
    const ClockFound found = read_clock(name, count, timebase, guard.interrupted());
    if (guard.interrupted()) {
        throw guard.failure("while the clock " + name + " was read");
    }
    records.series(request.id, "call_ns", "ns", found.call_ns);
    return values_of(found);
}

json answer_sleep(Request& request, RecordWriter& records, Guard& guard) {
    const SleepCall& call = sleep_call(request.fields.text("call", 32));
    const std::int64_t asked_ns = request.fields.integer("asked_ns", 0, longest_sleep_ns);
    const auto count = static_cast<std::size_t>(request.fields.integer("count", 1, most_sleeps));
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    if (asked_ns % call.unit_ns != 0) {
        throw Failure("bad_request", "request: asked_ns is " + std::to_string(asked_ns) + ", but " +
                                         call.name + " counts in " + std::to_string(call.unit_ns) +
                                         " ns");
    }
    const Guard::Watch watch(guard, timeout_ns, [] {});
    const UsualTimerSlack slack;
    const Samples lengths = sleep_often<MonotonicClock>(
        count, [&](std::uint64_t start) { call.sleep(asked_ns, static_cast<std::int64_t>(start)); },
        guard.interrupted());
    if (guard.interrupted()) {
        throw guard.failure("while " + std::string(call.name) + " was called");
    }
    records.series(request.id, "slept_ns", "ns", plain(lengths));
    return {{"timer_slack_ns", slack.slack_ns()}};
}

json answer_work(Request& request, RecordWriter& records, Timebase& timebase, Guard& guard) {
    const std::int64_t quantum_ns =
        request.fields.integer("quantum_ns", shortest_quantum_ns, longest_quantum_ns);
    const auto count =
        static_cast<std::size_t>(request.fields.integer("count", 1, most_measurements));
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard, timeout_ns, [] {});
    std::uint64_t steps = 0;
    std::uint64_t value = 1;
    const Samples lengths = timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        const auto work = [&](std::uint64_t so_many) { value = churn(value, so_many); };
        steps = steps_for<Clock>(timebase.to_ticks(quantum_ns), work);
        return time_quanta<Clock>(
            count, [&] { work(steps); }, guard.interrupted());
    });
    if (guard.interrupted()) {
        throw guard.failure("while it worked");
    }
    timebase.refresh();
    records.series(request.id, "quantum_ns", "ns", durations_ns(lengths, timebase));
    return {{"steps", steps}, {"last_digit", value % 10}}; // a result that is used is computed
}

json answer_copy(Request& request, RecordWriter& records, Timebase& timebase, Guard& guard) {
    CopyPlan plan;
    plan.bytes = static_cast<std::size_t>(request.fields.integer("bytes", 1, most_bytes_copied));
    plan.source_is_cold = take_cold(request.fields, "source");
    plan.destination_is_cold = take_cold(request.fields, "destination");
    plan.arena_bytes =
        static_cast<std::size_t>(request.fields.integer("arena_bytes", 0, most_arena_bytes));
    const auto count =
        static_cast<std::size_t>(request.fields.integer("count", 1, most_measurements));
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard, timeout_ns, [] {});
    Copies copies(plan);
    const Samples lengths = timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        return time_copies<Clock>(count, copies, guard.interrupted());
    });
    if (guard.interrupted()) {
        throw guard.failure("while memory was copied");
    }
    timebase.refresh();
    records.series(request.id, "copies_ns", "ns", durations_ns(lengths, timebase));
    return {{"copies_together", copies.together()}, {"arrived", copies.arrived()}};
}

json answer_hand_off(Request& request, RecordWriter& records, Guard& guard) {
    const auto count =
        static_cast<std::size_t>(request.fields.integer("count", 1, most_measurements));
    const auto cpu = static_cast<int>(request.fields.integer("cpu", 0, most_processors));
    const auto other = request.fields.optional_integer("other_cpu", 0, most_processors);
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard, timeout_ns, [] {});
    const HandOffs found =
        hand_off(count, cpu, other ? std::optional<int>(static_cast<int>(*other)) : std::nullopt,
                 guard.interrupted());
    if (guard.interrupted()) {
        throw guard.failure("while threads handed over to each other");
    }
    records.series(request.id, "round_trip_ns", "ns", plain(found.round_trips));
    return {{"times_asleep", found.times_asleep}};
}

json answer_hint(Request& request, RecordWriter& records, Guard& guard) {
    const std::string number = request.fields.text("number", 16);
    const auto most =
        static_cast<std::size_t>(request.fields.integer("subintervals", 2, most_subintervals));
    const auto threads = static_cast<unsigned>(request.fields.integer("threads", 1, most_threads));
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    if (most / threads < 2) {
        throw Failure("bad_request", "request: subintervals is " + std::to_string(most) +
                                         ", too few for " + std::to_string(threads) + " threads");
    }
    const Guard::Watch watch(guard, timeout_ns, [] {});
    std::map<std::string, std::vector<std::int64_t>> series;
    bool holds = true;
    for (std::size_t subintervals = 2UL * threads; subintervals <= most && !guard.interrupted();
         subintervals += std::max<std::size_t>(1, subintervals / 2)) {
        const HintPoint point = run_hint(number, subintervals, threads);
        series["subintervals"].push_back(static_cast<std::int64_t>(point.subintervals));
        series["time_ns"].push_back(static_cast<std::int64_t>(point.time_ns));
        series["memory_bytes"].push_back(static_cast<std::int64_t>(point.memory_bytes));
        series["gap"].push_back(static_cast<std::int64_t>((point.upper - point.lower) / gap_unit));
        holds = holds && point.lower <= hint_integral && hint_integral <= point.upper;
    }
    if (guard.interrupted()) {
        throw guard.failure("while HINT ran");
    }
    records.series(request.id, "subintervals", "count", series["subintervals"]);
    records.series(request.id, "time_ns", "ns", series["time_ns"]);
    records.series(request.id, "memory_bytes", "bytes", series["memory_bytes"]);
    records.series(request.id, "gap", "count", series["gap"]);
    return {{"bounds_hold", holds}};
}

json answer_burn(Request& request, std::unique_ptr<Burner>& burner) {
    BurnPlan plan;
    for (const json& cpu : request.fields.list("cpus", most_processors)) {
        if (!cpu.is_number_integer() || cpu < 0 || cpu > most_processors) {
            throw Failure("bad_request",
                          "request: cpus holds " + cpu.dump() + ", expected numbers of CPUs");
        }
        plan.cpus.push_back(cpu.get<int>());
    }
    plan.share = static_cast<double>(request.fields.integer("share_permille", 1, 1'000)) / 1'000.0;
    plan.nice = static_cast<int>(request.fields.integer("nice", 0, most_nice));
    plan.longest_ns = request.fields.integer("longest_ns", 1, longest_burn_ns);
    request.fields.finish();
    burner.reset(); // one kind of work at a time
    burner = std::make_unique<Burner>(plan);
    return json::object();
}

json answer_rest(Request& request, RecordWriter& records, std::unique_ptr<Burner>& burner) {
    request.fields.finish();
    if (!burner) {
        throw Failure("bad_request", "rest: nothing was begun with burn");
    }
    std::map<std::string, std::vector<std::int64_t>> series;
    for (const Burnt& found : burner->rest()) {
        series["cpu"].push_back(found.cpu);
        series["processor_ns"].push_back(found.processor_ns);
        series["lasted_ns"].push_back(found.lasted_ns);
    }
    burner.reset();
    records.series(request.id, "cpu", "count", series["cpu"]);
    records.series(request.id, "processor_ns", "ns", series["processor_ns"]);
    records.series(request.id, "lasted_ns", "ns", series["lasted_ns"]);
    return json::object();
}

} // namespace sonde
