// sonde-mpi: the worker for MPI. Every rank runs this program; rank 0 reads the requests, passes
// each on to all, and writes the records of all. See docs/reference/records.md.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "collective/collective.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "trace/facts.hpp"
#include "trace/snapshot.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/job.hpp"
#include "transport/mpi/spool.hpp"
#include "transport/mpi/transport.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

// facts and snapshot read a few hundred small files.
constexpr std::int64_t plain_timeout_ns = 30'000'000'000;
// Rank 0 speaks for all, so its deadline comes first.
constexpr std::int64_t other_ranks_grace_ns = 2'000'000'000;
constexpr const char* deadline_passed = "the deadline passed";
constexpr const char* launcher_gone = "the launcher is gone";
constexpr int status_usage = 2;
constexpr int status_failed = 3;

constexpr const char* help_text =
    "usage: mpiexec -n RANKS sonde-mpi\n"
    "       sonde-mpi --version | --help\n"
    "\n"
    "netsonde's worker for MPI. Rank 0 reads requests, one JSON object a line, on standard input\n"
    "and writes the records of all ranks, one JSON object a line, on standard output, until "
    "`quit`\n"
    "or the end of the input. Normally netsonde starts it.\n";

void say(const mpi::Job& job, std::string_view message) {
    const std::string line = "sonde-mpi: rank " + std::to_string(job.rank()) + " on " + job.host() +
                             ": " + std::string(message) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// Ends this rank at once; the launcher then ends the others. Not exit(): ending MPI in order would
// wait for ranks that never come.
[[noreturn]] void give_up(const mpi::Job& job, std::string_view message) {
    say(job, message);
    ::_exit(status_failed);
}

// One rank's part of every request. Each verb is called on all ranks alike, leaves its records in
// the spool, and returns the same failure everywhere.
class Rank {
public:
    Rank(const mpi::Job& job, Timebase& timebase)
        : job_(job), timebase_(timebase), records_(spool_.fd(), job.host(), job.rank()) {}

    std::optional<Failure> facts(std::int64_t request);
    std::optional<Failure> snapshot(std::int64_t request);
    std::optional<Failure> run(std::int64_t request, const RunParameters& parameters, json& done);

    [[nodiscard]] const mpi::Spool& spool() const noexcept { return spool_; }

private:
    [[nodiscard]] bool takes_part(const RunParameters& parameters) const noexcept {
        return parameters.test == Test::collective || job_.rank() < 2;
    }
    [[nodiscard]] Result measure(const RunParameters& parameters, const BatchHooks& hooks);
    [[nodiscard]] Result measure_collective(const RunParameters& parameters,
                                            const BatchHooks& hooks);
    void write_snapshot(std::int64_t request, std::string_view phase);

    const mpi::Job& job_;
    Timebase& timebase_;
    mpi::Spool spool_;
    RecordWriter records_;
    std::uint32_t batch_ = 0;
};

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

// The variables that choose how MPI moves data.
void add_environment(json& facts) {
    constexpr std::array<std::string_view, 5> prefixes{"MPIR_CVAR_", "UCX_", "FI_", "I_MPI_",
                                                       "OMPI_MCA_"};
    constexpr std::size_t longest = 256;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t split = text.find('=');
        if (split != std::string_view::npos &&
            std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); })) {
            facts["mpi.environment." + std::string(text.substr(0, split))] =
                text.substr(split + 1, longest);
        }
    }
}

std::string standard_version() {
    int version = 0;
    int subversion = 0;
    mpi::check(MPI_Get_version(&version, &subversion), "tell its version");
    return std::to_string(version) + "." + std::to_string(subversion);
}

void Rank::write_snapshot(std::int64_t request, std::string_view phase) {
    sonde::write_snapshot(records_, request, phase, take_snapshot());
}

std::optional<Failure> Rank::facts(std::int64_t request) {
    return job_.agree(mpi::attempt([&] {
        spool_.clear();
        json values = host_facts();
        values["mpi.library"] = library_version();
        values["mpi.standard"] = standard_version();
        add_environment(values);
        records_.facts(request, values);
    }));
}

std::optional<Failure> Rank::snapshot(std::int64_t request) {
    return job_.agree(mpi::attempt([&] {
        spool_.clear();
        write_snapshot(request, "now");
    }));
}

Result Rank::measure_collective(const RunParameters& parameters, const BatchHooks& hooks) {
    const auto collective = collective::prepare({.operation = parameters.operation,
                                                 .message_bytes = parameters.message_bytes,
                                                 .count = parameters.count,
                                                 .root = parameters.root,
                                                 .check_data = parameters.check_data,
                                                 .seed = parameters.seed,
                                                 .communicator = job_.measured(),
                                                 .rank = job_.rank(),
                                                 .ranks = job_.ranks()});
    hooks.before();
    collective::Result found = collective->run(timebase_);
    hooks.after();
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
    return result;
}

Result Rank::measure(const RunParameters& parameters, const BatchHooks& hooks) {
    ++batch_;
    if (parameters.test == Test::collective) {
        return measure_collective(parameters, hooks);
    }
    if (job_.ranks() < 2) {
        throw Failure("bad_request", "this test needs 2 ranks, and this MPI program has 1");
    }
    mpi::require_countable(parameters.message_bytes);
    if (!takes_part(parameters)) {
        hooks.before();
        return {};
    }
    const int peer = 1 - job_.rank();
    mpi::Transport path(job_.measured(), peer);
    mpi::Control control(job_.control(), peer);
    return run_test(path, control, job_.rank(), batch_, parameters, timebase_, hooks);
}

// All ranks agree twice: when every one is ready, so that none begins where another cannot, and
// when every one has finished. A rank without a part in the test sleeps in the second one.
std::optional<Failure> Rank::run(std::int64_t request, const RunParameters& parameters,
                                 json& done) {
    bool asked = false;
    std::optional<Failure> refused;
    BatchHooks hooks;
    hooks.before = [&] {
        const auto failure = mpi::attempt([&] {
            spool_.clear();
            write_snapshot(request, "before");
        });
        asked = true;
        refused = job_.agree(failure);
        if (refused) {
            throw Failure(*refused);
        }
    };
    hooks.after = [&] { write_snapshot(request, "after"); };

    Result result;
    auto mine = mpi::attempt([&] { result = measure(parameters, hooks); });
    if (!asked) {
        refused = job_.agree(mine);
    }
    if (refused) {
        return refused;
    }
    if (mine) {
        say(job_, mine->what()); // the other end may wait for this one and never hear of it
    }
    if (auto failure = job_.agree(mine)) {
        return failure;
    }
    done = done_values(result);
    return job_.agree(mpi::attempt([&] {
        if (!takes_part(parameters)) {
            hooks.after();
        } else {
            write_result(records_, request, result);
        }
    }));
}

// Rank 0: serves the launcher.
class Leader {
public:
    Leader(const mpi::Job& job, Timebase& timebase)
        : job_(job), rank_(job, timebase), records_(STDOUT_FILENO, job.host(), job.rank()),
          guard_(STDIN_FILENO) {}

    void serve(const ClockFacts& clock) {
        records_.hello("sonde-mpi", NETSONDE_VERSION, job_.ranks(), clock);
        serve_requests(STDIN_FILENO, records_,
                       {{"facts", [this](Request& request) { return facts(request); }},
                        {"snapshot", [this](Request& request) { return snapshot(request); }},
                        {"run", [this](Request& request) { return run(request); }}});
        job_.tell(R"({"request": 1, "verb": "quit"})");
    }

private:
    json facts(Request& request) {
        request.fields.finish();
        return lead(request, plain_timeout_ns, [&](json&) { return rank_.facts(request.id); });
    }

    json snapshot(Request& request) {
        request.fields.finish();
        return lead(request, plain_timeout_ns, [&](json&) { return rank_.snapshot(request.id); });
    }

    json run(Request& request) {
        const RunParameters parameters = read_run_parameters(request.fields);
        return lead(request, parameters.timeout_ns,
                    [&](json& done) { return rank_.run(request.id, parameters, done); });
    }

    // All ranks do it; their records come out; the values of `done` are returned.
    json lead(const Request& request, std::int64_t timeout_ns,
              const std::function<std::optional<Failure>(json&)>& act) {
        json done = json::object();
        std::optional<Failure> failure;
        try {
            const Guard::Watch watch(guard_, timeout_ns, [&] { interrupt(request.id); });
            job_.tell(request.line);
            failure = act(done);
            if (!failure) {
                job_.collect(rank_.spool(), [this](std::string_view lines) { write(lines); });
            }
        } catch (const Failure& broken) { // between the ranks, not in what was asked for
            answer_and_give_up(request.id, broken);
        }
        if (failure) {
            throw Failure(*failure);
        }
        return done;
    }

    void write(std::string_view lines) {
        const std::scoped_lock lock(writing_);
        while (!lines.empty()) {
            const ssize_t written = ::write(STDOUT_FILENO, lines.data(), lines.size());
            if (written < 0 && errno != EINTR) {
                throw system_failure("write records");
            }
            lines.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
        }
    }

    // The guard's thread: a blocked MPI call cannot be called back, so the program ends.
    void interrupt(std::int64_t request) {
        answer_and_give_up(request, guard_.hung_up() ? Failure("timeout", launcher_gone)
                                                     : Failure("timeout", deadline_passed));
    }

    [[noreturn]] void answer_and_give_up(std::int64_t request, const Failure& failure) {
        // Where the main thread is in the middle of a line, standard error must be enough.
        if (const std::unique_lock lock(writing_, std::try_to_lock);
            lock.owns_lock() && !guard_.hung_up()) {
            [[maybe_unused]] const auto unsaid =
                mpi::attempt([&] { records_.error(request, failure.code(), failure.what()); });
        }
        give_up(job_, failure.what());
    }

    const mpi::Job& job_;
    Rank rank_;
    RecordWriter records_;
    std::mutex writing_;
    Guard guard_;
};

// The other ranks: do what rank 0 passes on.
class Follower {
public:
    // Nothing comes from standard input and nothing goes to standard output here, but the launcher
    // holds the latter's other end: when it is gone, so is the launcher.
    Follower(const mpi::Job& job, Timebase& timebase)
        : job_(job), rank_(job, timebase), guard_(STDOUT_FILENO) {}

    void serve() {
        while (true) {
            std::int64_t id = 0;
            Request request = parse_request(job_.listen(), id);
            if (request.verb == "quit") {
                return;
            }
            act(request);
        }
    }

private:
    void act(Request& request) {
        json ignored;
        std::optional<Failure> failure;
        if (request.verb == "run") {
            const RunParameters parameters = read_run_parameters(request.fields);
            const auto watch = watch_for(parameters.timeout_ns);
            failure = rank_.run(request.id, parameters, ignored);
            deliver(failure);
        } else {
            const auto watch = watch_for(plain_timeout_ns);
            failure =
                request.verb == "facts" ? rank_.facts(request.id) : rank_.snapshot(request.id);
            deliver(failure);
        }
    }

    [[nodiscard]] Guard::Watch watch_for(std::int64_t timeout_ns) {
        return {guard_, timeout_ns + other_ranks_grace_ns,
                [this] { give_up(job_, guard_.hung_up() ? launcher_gone : deadline_passed); }};
    }

    void deliver(const std::optional<Failure>& failure) const {
        if (!failure) { // else nobody asks for records
            job_.deliver(rank_.spool());
        }
    }

    const mpi::Job& job_;
    Rank rank_;
    Guard guard_;
};

int serve(int argc, char** argv) {
    Timebase timebase;
    mpi::Job job(argc, argv);
    try {
        if (job.rank() == 0) {
            Leader(job, timebase).serve(timebase.facts());
        } else {
            Follower(job, timebase).serve();
        }
    } catch (const std::exception& error) {
        give_up(job, error.what());
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) { // answered without MPI, which may not be there
        const bool version = std::string_view(argv[1]) == "--version";
        const bool help = std::string_view(argv[1]) == "--help";
        std::fputs(version ? "sonde-mpi " NETSONDE_VERSION "\n" : help_text,
                   version || help ? stdout : stderr);
        return version || help ? 0 : status_usage;
    }
    // A launcher that reads no more is a failed write, which is said, and not a silent death.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return serve(argc, argv);
    } catch (const std::exception& error) {
        const std::string line = std::string("sonde-mpi: ") + error.what() + "\n";
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
        return status_failed;
    }
}
