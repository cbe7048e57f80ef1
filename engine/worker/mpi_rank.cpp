#include "worker/mpi_rank.hpp"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "collective/collective.hpp"
#include "core/lead.hpp"
#include "counters/facts.hpp"
#include "test/threads.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/library_algorithms.hpp"
#include "transport/mpi/mesh.hpp"
#include "transport/mpi/tcp_partners.hpp"
#include "transport/mpi/transport.hpp"
#include "transport/mpi/variables.hpp"
#include "transport/mpi/wtime.hpp"
#include "worker/clock_series.hpp"
#include "worker/collective_summary.hpp"
#include "worker/mpi_words.hpp"
#include "worker/timer_cost.hpp"

namespace sonde {

using nlohmann::json;

namespace {

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    mpi::check(MPI_Get_library_version(text.data(), &length), "tell its version");
    // MPICH goes on with pages on how it was built.
    std::istringstream first_line(std::string(text.data(), text.data() + length));
    std::string line;
    std::getline(first_line, line);
    std::istringstream words(line);
    std::string version;
    for (std::string word; words >> word;) {
        version += (version.empty() ? "" : " ") + word;
    }
    return version;
}

// The variables that choose how MPI moves data, and what the library made of them.
void add_environment(json& facts) {
    constexpr std::array<std::string_view, 5> prefixes{"MPIR_CVAR_", "UCX_", "FI_", "I_MPI_",
                                                       "OMPI_MCA_"};
    constexpr std::size_t longest = 256;
    std::vector<std::string> asked;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t split = text.find('=');
        if (split != std::string_view::npos &&
            std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); })) {
            asked.emplace_back(text.substr(0, split));
            facts["mpi.environment." + asked.back()] = text.substr(split + 1, longest);
        }
    }
    for (const mpi::LibraryVariable& variable : mpi::library_variables(asked)) {
        if (variable.known) {
            facts["mpi.in_effect." + variable.name] = variable.value;
        } else {
            std::string nearest;
            for (const std::string& name : variable.nearest) {
                nearest += (nearest.empty() ? "" : " ") + name;
            }
            facts["mpi.unknown." + variable.name] = nearest;
        }
    }
}

std::string standard_version() {
    int version = 0;
    int subversion = 0;
    mpi::check(MPI_Get_version(&version, &subversion), "tell its version");
    return std::to_string(version) + "." + std::to_string(subversion);
}

// What was found of the choices that were made.
void add_choices(Result& result, const OperationChoices& choices, collective::Result& found) {
    if (found.partner >= 0) {
        result.counters["partner"] = found.partner;
    }
    if (found.messages > 0) {
        result.counters["window_messages"] = found.messages;
    }
    if (choices.cache != CacheState::warm) {
        result.counters["cold_bytes"] = found.cold_bytes;
    }
    if (choices.overlap) {
        result.series.push_back({"compute_ns", "ns", std::move(found.compute_ns)});
        result.series.push_back({"together_ns", "ns", std::move(found.together_ns)});
    }
    if (choices.both_timers) {
        result.series.push_back({"wtime_duration_ns", "ns", std::move(found.wtime_duration_ns)});
    }
}

// What windows became, and when a repetition is to count as begun late.
void add_windows(Result& result, const WindowBounds& bounds, const collective::Result& found) {
    result.counters["window_ns"] = found.window_ns;
    result.counters["window_slack_ns"] = found.slack_ns;
    result.counters["windows_at_once"] = found.windows_at_once;
    result.counters["late_after_ns"] = bounds.late_ns;
    result.counters["late_most_ns"] = bounds.late_most_ns;
}

Failure not_done_here(const MpiRun& parameters, const Failure& why) {
    return {"unsupported", "this MPI library does not do " + parameters.operation + " by " +
                               parameters.choices.library_algorithm + " here: " + why.what()};
}

} // namespace

void add_network(json& values, const std::string& prefix, const mpi::NetworkPart& network) {
    if (!network.name.empty()) {
        values[prefix + "netmod"] = network.name;
    }
    if (!network.provider.empty()) {
        values[prefix + "provider"] = network.provider;
    }
}

void MpiRank::write_snapshot(std::int64_t request, std::string_view phase,
                             const CounterSources& sources) {
    sonde::write_snapshot(records_, request, phase, take_snapshot({}, sources));
}

std::span<const int> MpiRank::reporters() const noexcept {
    switch (reporters_) {
    case Reporters::all:
        return others_;
    case Reporters::hosts:
        return hosts_;
    case Reporters::pair:
        return pair_;
    case Reporters::leader:
        break;
    }
    return {};
}

std::optional<Failure> MpiRank::facts(std::int64_t request) {
    reporters_ = usual_reporters();
    return job_.agree(mpi::attempt([&] {
        spool_.clear();
        json values = host_facts();
        values["mpi.library"] = library_version();
        values["mpi.standard"] = standard_version();
        values["mpi.init_ns"] = job_.init_ns();
        values["mpi.wtick_ns"] = 1e9 * MPI_Wtick();
        add_network(values, "mpi.", job_.network());
        const json clock = clock_values(timebase_.facts());
        for (auto each = clock.begin(); each != clock.end(); ++each) {
            values["clock_" + each.key()] = each.value();
        }
        add_environment(values);
        records_.facts(request, values);
    }));
}

std::optional<Failure> MpiRank::snapshot(std::int64_t request) {
    reporters_ = usual_reporters();
    return job_.agree(mpi::attempt([&] {
        spool_.clear();
        write_snapshot(request, "now");
    }));
}

std::optional<Failure> MpiRank::place(std::int64_t request, const mpi::PinRequest& asked) {
    reporters_ = Reporters::leader;
    int processor = -1;
    if (auto failure = job_.agree(mpi::attempt([&] {
            spool_.clear();
            processor = places_.bind(asked);
        }))) {
        return failure;
    }
    return job_.agree(mpi::attempt([&] {
        const auto processes = mpi::gather(job_, ::getpid());
        const auto processors = mpi::gather(job_, processor);
        if (job_.rank() == 0) {
            records_.series(request, "process_id", "count", processes);
            records_.series(request, "processor", "count", processors);
        }
    }));
}

// Made by all ranks together where it is needed first, and kept: its drifts get better with age.
mpi::Clocks& MpiRank::clocks(const MpiRun& parameters) {
    return clocks_
        .try_emplace({parameters.clock, parameters.clocks_apart}, job_, parameters.clock,
                     parameters.clocks_apart)
        .first->second;
}

Result MpiRank::measure_clock(const MpiRun& parameters, const BatchHooks& hooks) {
    mpi::Clocks& clocks = this->clocks(parameters);
    hooks.before();
    ClockSeries found;
    Result result;
    result.counters["start_ns"] = host_clock_ns(monotonic_ns());
    for (std::uint64_t i = 0; i < parameters.count; ++i) {
        if (i > 0) {
            await_host_clock(host_clock_ns(monotonic_ns()) + parameters.interval_ns,
                             [] { return false; });
        }
        found.add(clocks.compare(timebase_));
        if (parameters.clock == ClockMethod::wtime) {
            found.add(mpi::read_wtime(timebase_));
        }
    }
    result.counters["end_ns"] = host_clock_ns(monotonic_ns());
    hooks.after();
    std::move(found).write(result, clocks);
    return result;
}

// Throws Failure("bad_request") where what is asked for needs samples that would not be kept.
void MpiRank::require_samples(const MpiRun& parameters) const {
    const std::array<std::pair<std::string_view, bool>, 4> asked{
        {{"count_partners", parameters.choices.count_partners},
         {"overlap", parameters.choices.overlap},
         {"both_timers", parameters.choices.both_timers},
         {"timer_cost", parameters.timer_cost}}};
    for (const auto& [name, is_asked] : asked) {
        if (is_asked && is_summarised(parameters)) {
            throw Failure("bad_request", "request: " + std::string(name) +
                                             " needs all its samples, and keep_samples is " +
                                             std::to_string(parameters.keep_samples));
        }
    }
    if (parameters.choices.both_timers && parameters.clock == ClockMethod::wtime) {
        throw Failure("bad_request", "request: both_timers and clock wtime do not go together: "
                                     "MPI_Wtime is read beside the clock");
    }
}

collective::Setup MpiRank::setup_of(const MpiRun& parameters, MPI_Comm communicator) const {
    const InjectedDelay& delay = parameters.delay;
    return {.operation = parameters.operation,
            .message_bytes = parameters.message_bytes,
            .count = parameters.count,
            .root = parameters.root,
            .rotate_root = parameters.rotate_root,
            .uneven = parameters.uneven,
            .pattern = parameters.pattern,
            .distance = parameters.distance,
            .check_data = parameters.check_data,
            .seed = parameters.seed,
            .communicator = communicator,
            .rank = job_.rank(),
            .ranks = job_.ranks(),
            .start = parameters.start,
            .windows = parameters.windows,
            .delayed_repetition = delay.repetition,
            .delay_ns = delay.rank == job_.rank() ? delay.time_ns : 0,
            .by_wtime = parameters.clock == ClockMethod::wtime,
            .choices = parameters.choices};
}

// Once, untimed: an algorithm that is not for these arguments is then refused before anything is
// measured, and the job goes on. All ranks together.
void MpiRank::try_library_algorithm(const MpiRun& parameters, MPI_Comm communicator,
                                    const LeadLine& lead) {
    collective::Setup once = setup_of(parameters, communicator);
    once.count = 1;
    once.delay_ns = 0;
    once.start = StartBy::barrier;
    const auto failure =
        job_.agree(mpi::attempt([&] { (void)collective::prepare(once)->run(timebase_, lead); }));
    if (failure) {
        throw not_done_here(parameters, *failure);
    }
}

Result MpiRank::measure_collective(const MpiRun& parameters, const BatchHooks& hooks) {
    const std::string& name = parameters.choices.library_algorithm;
    if (name.empty()) {
        return measure_collective_on(job_.measured(), parameters, hooks);
    }
    // What the library refuses, it refuses on all ranks alike.
    std::optional<mpi::ForcedAlgorithm> forced;
    std::optional<mpi::FreshCommunicator> fresh;
    if (const auto failure =
            job_.agree(mpi::attempt([&] { forced.emplace(parameters.operation, name); }))) {
        throw Failure(*failure);
    }
    if (const auto failure = job_.agree(mpi::attempt([&] { fresh.emplace(job_.measured()); }))) {
        throw not_done_here(parameters, *failure);
    }
    try_library_algorithm(parameters, fresh->get(), clocks(parameters).lead());
    return measure_collective_on(fresh->get(), parameters, hooks);
}

Result MpiRank::measure_collective_on(MPI_Comm communicator, const MpiRun& parameters,
                                      const BatchHooks& hooks) {
    // First of all, since all ranks make them together: whatever else fails may fail on one alone.
    mpi::Clocks& clocks = this->clocks(parameters);
    const InjectedDelay& delay = parameters.delay;
    if (delay.rank >= job_.ranks()) {
        throw Failure("bad_request", "delay: rank " + std::to_string(delay.rank) +
                                         " is no rank of " + std::to_string(job_.ranks()));
    }
    require_samples(parameters);
    const bool is_delayed = delay.rank == job_.rank();
    const auto collective = collective::prepare(setup_of(parameters, communicator));
    hooks.before();
    ClockSeries compared;
    compared.add(clocks.compare(timebase_));
    LeadSpan lead;
    lead.first = clocks.lead();
    lead.changes = parameters.clock != ClockMethod::offset;
    const bool counts = parameters.choices.count_partners;
    const mpi::TcpSent sent = counts ? mpi::tcp_sent() : mpi::TcpSent{};
    collective::Result found = collective->run(timebase_, lead.first);
    const auto to_partners =
        counts ? mpi::bytes_to_partners(job_, sent) : std::vector<std::int64_t>{};
    compared.add(clocks.compare(timebase_));
    lead.last = clocks.lead();
    hooks.after();
    if (is_summarised(parameters)) {
        Result joined = summary_of(job_, found, lead, clocks.method(), parameters.check_data);
        if (job_.rank() == 0 && !found.late_ns.empty()) {
            add_windows(joined, parameters.windows, found);
        }
        return joined;
    }
    Result result;
    result.series.push_back({"begin_ns", "ns", std::move(found.begin_ns)});
    result.series.push_back({"duration_ns", "ns", std::move(found.duration_ns)});
    result.counters = {{"start_ns", found.start_ns},
                       {"end_ns", found.end_ns},
                       {"cpu", found.cpu},
                       {"bytes_sent", found.least_bytes_sent}};
    if (parameters.check_data) {
        result.counters["corrupt"] = found.corrupt;
    }
    if (is_delayed) { // whoever reads this must not take it for the network's
        result.counters["delayed_ns"] = found.delayed_ns;
        result.counters["delayed_repetition"] = static_cast<std::int64_t>(delay.repetition);
    }
    result.counters.insert(found.frames.begin(), found.frames.end());
    add_choices(result, parameters.choices, found);
    if (parameters.timer_cost) {
        add_timer_cost(result, timebase_, parameters.clock == ClockMethod::wtime);
    }
    if (!found.late_ns.empty()) {
        add_windows(result, parameters.windows, found);
        result.series.push_back({"late_ns", "ns", std::move(found.late_ns)});
    }
    if (counts) {
        result.series.push_back({"partner_bytes", "bytes", to_partners});
    }
    std::move(compared).write(result, clocks);
    return result;
}

Result MpiRank::measure_all_pairs(const MpiRun& parameters, const BatchHooks& hooks) {
    for (const AskedPair& pair : parameters.asked) {
        if (const int last = std::max(pair[0], pair[1]); last >= job_.ranks()) {
            throw Failure("bad_request", "request: asked names rank " + std::to_string(last) +
                                             ", expected ranks below " +
                                             std::to_string(job_.ranks()));
        }
    }
    mpi::require_countable(parameters.message_bytes);
    mpi::Mesh path(job_.measured());
    AllPairsEnd<mpi::Mesh> end(parameters, parameters.asked, job_.rank());
    hooks.before();
    // Ranks come out of the agreement milliseconds apart; the barrier leaves microseconds.
    mpi::check(MPI_Barrier(job_.measured()), "start together");
    Result result;
    result.counters["start_ns"] = host_clock_ns(monotonic_ns());
    timebase_.with_clock([&]<class Clock>(Clock /*clock*/) { end.play<Clock>(path); });
    result.counters["end_ns"] = host_clock_ns(monotonic_ns());
    hooks.after();
    timebase_.refresh();
    end.report(result, timebase_);
    return result;
}

Result MpiRank::measure_threads(const MpiRun& parameters, const BatchHooks& hooks, int end,
                                int peer) {
    const ThreadChoices& threads = parameters.threads;
    const std::vector<mpi::ThreadPath> paths =
        thread_communicators_.paths(job_, peer, threads.count, threads.share_communicator);
    mpi::Control control(job_.control(), peer);
    return run_threads(paths, control, end, batch_, parameters, timebase_, hooks,
                       [this](const std::exception& error) { mpi::say(job_, error.what()); });
}

Result MpiRank::measure_between(mpi::Transport& path, mpi::Control& control, int end,
                                const MpiRun& parameters, const BatchHooks& hooks) {
    const bool by_wtime = parameters.clock == ClockMethod::wtime;
    Result result;
    if (by_wtime) {
        Timebase wtime = Timebase::ahead_of_host(mpi::read_wtime(timebase_).ahead_ns);
        result = run_test_by<mpi::Wtime>(path, control, end, batch_, parameters, wtime, hooks);
    } else {
        result = run_test(path, control, end, batch_, parameters, timebase_, hooks);
    }
    if (parameters.timer_cost) {
        add_timer_cost(result, timebase_, by_wtime);
    }
    return result;
}

Result MpiRank::measure(const MpiRun& parameters, const BatchHooks& hooks) {
    ++batch_;
    if (parameters.mpi_test == MpiTest::collective) {
        return measure_collective(parameters, hooks);
    }
    if (parameters.mpi_test == MpiTest::clock) {
        return measure_clock(parameters, hooks);
    }
    if (parameters.mpi_test == MpiTest::all_pairs) {
        return measure_all_pairs(parameters, hooks);
    }
    if (job_.ranks() < 2) {
        throw Failure("bad_request", "this test needs 2 ranks, and this MPI program has 1");
    }
    const auto [origin, target] = parameters.pair;
    if (const int last = std::max(origin, target); last >= job_.ranks()) {
        throw Failure("bad_request", "request: pair names rank " + std::to_string(last) +
                                         ", expected ranks below " + std::to_string(job_.ranks()));
    }
    mpi::require_countable(parameters.message_bytes);
    if (parameters.threads.count > 1) {
        mpi::require_thread_multiple(job_.thread_level(), job_.asked_for_multiple());
    }
    if (parameters.mpi_test == MpiTest::threads && !parameters.threads.share_communicator) {
        thread_communicators_.provide(job_, parameters.threads.count);
    }
    if (!takes_part(parameters)) {
        hooks.before();
        return {};
    }
    const int end = job_.rank() == origin ? 0 : 1;
    const int peer = end == 0 ? target : origin;
    if (parameters.mpi_test == MpiTest::threads) {
        return measure_threads(parameters, hooks, end, peer);
    }
    mpi::Transport path(job_.measured(), peer, parameters.outstanding,
                        end == 0 ? 0 : parameters.message_bytes);
    mpi::Control control(job_.control(), peer);
    return measure_between(path, control, end, parameters, hooks);
}

// All ranks agree twice: when every one is ready, so that none begins where another cannot, and
// when every one has finished. A rank without a part in the test sleeps in the second one.
std::optional<Failure> MpiRank::run(std::int64_t request, const MpiRun& parameters, json& done) {
    reporters_ = reporters_of(parameters);
    set_pair(parameters.pair);
    bool asked = false;
    std::optional<Failure> refused;
    CounterSources sources;
    sources.system = parameters.system_counters;
    BatchHooks hooks;
    hooks.before = [&] {
        const auto failure = mpi::attempt([&] {
            spool_.clear();
            if (reports()) {
                write_snapshot(request, "before", sources);
            }
        });
        asked = true;
        refused = job_.agree(failure);
        if (refused) {
            throw Failure(*refused);
        }
    };
    hooks.after = [&] {
        if (reports()) {
            write_snapshot(request, "after", sources);
        }
    };

    Result result;
    auto mine = mpi::attempt([&] { result = measure(parameters, hooks); });
    if (!asked) {
        refused = job_.agree(mine);
    }
    if (refused) {
        return refused;
    }
    if (mine) {
        mpi::say(job_, mine->what()); // the other end may wait for this one and never hear of it
    }
    if (auto failure = job_.agree(mine)) {
        return failure;
    }
    done = done_values(result);
    if (parameters.mpi_test == MpiTest::threads) {
        done["thread_level"] = mpi::thread_level_name(job_.thread_level());
    }
    if (parameters.is_between_two()) {
        done["origin_rank"] = parameters.pair[0];
        done["target_rank"] = parameters.pair[1];
    }
    return job_.agree(mpi::attempt([&] {
        if (!takes_part(parameters)) {
            hooks.after();
        } else {
            write_result(records_, request, result);
        }
    }));
}

} // namespace sonde
