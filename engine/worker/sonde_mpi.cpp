// sonde-mpi: the worker for MPI. Every rank runs this program; rank 0 reads the requests, passes
// each on to all, and writes the records of all. See docs/reference/records.md.

#include <chrono>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "counters/withheld.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/job.hpp"
#include "transport/mpi/leftovers.hpp"
#include "transport/mpi/library_algorithms.hpp"
#include "transport/mpi/places.hpp"
#include "transport/mpi/witness.hpp"
#include "worker/mpi_rank.hpp"
#include "worker/mpi_run.hpp"
#include "worker/mpi_words.hpp"
#include "worker/pin_request.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

// facts and snapshot read a few hundred small files.
constexpr std::int64_t plain_timeout_ns = 30'000'000'000;
// Rank 0 speaks for all, so its deadline comes first.
constexpr std::int64_t other_ranks_grace_ns = 2'000'000'000;
// So long rank 0 waits for what other hosts say of ranks that do not move.
constexpr std::int64_t last_words_ns = 300'000'000;
constexpr const char* deadline_passed = "the deadline passed";
constexpr const char* launcher_gone = "the launcher is gone";
constexpr std::size_t most_operations = 128;
constexpr int status_usage = 2;
constexpr int status_failed = 3;

constexpr const char* help_text =
    "usage: mpiexec -n RANKS sonde-mpi [--thread-multiple]\n"
    "       sonde-mpi --version | --operations | --help\n"
    "\n"
    "netsonde's worker for MPI. Rank 0 reads requests, one JSON object a line, on standard input\n"
    "and writes the records of all ranks, one JSON object a line, on standard output, until "
    "`quit`\n"
    "or the end of the input. Normally netsonde starts it.\n"
    "\n"
    "--thread-multiple: asks MPI to let threads call it at the same time, for the test threads.\n";
constexpr std::string_view multiple_option = "--thread-multiple";

// Ends this rank at once; the launcher then ends the others. Not exit(): ending MPI in order would
// wait for ranks that never come.
[[noreturn]] void give_up(const mpi::Job& job, std::string_view message) {
    mpi::say(job, message);
    ::_exit(status_failed);
}

void wait_ns(std::int64_t duration_ns) {
    const timespec pause{duration_ns / 1'000'000'000, duration_ns % 1'000'000'000};
    ::nanosleep(&pause, nullptr);
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
                        {"place", [this](Request& request) { return place(request); }},
                        {"algorithms", [](Request& request) { return algorithms(request); }},
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

    json place(Request& request) {
        const mpi::PinRequest asked = read_pin_request(request.fields);
        return lead(request, plain_timeout_ns, [&](json& done) {
            add_network(done, "", job_.network());
            return rank_.place(request.id, asked);
        });
    }

    // Of this rank's library, which is that of all; so the others hear nothing of it.
    static json algorithms(Request& request) {
        const std::vector<json> operations = request.fields.list("operations", most_operations);
        request.fields.finish();
        json found = json::object();
        for (const json& operation : operations) {
            if (!operation.is_string()) {
                throw Failure("bad_request",
                              "request: operations: expected names, got " + operation.dump());
            }
            std::string names;
            for (const auto& each : mpi::library_algorithms(operation.get<std::string>())) {
                names += (names.empty() ? "" : " ") + each.name;
            }
            found[operation.get<std::string>()] = names;
        }
        return found;
    }

    json run(Request& request) {
        const MpiRun parameters = read_mpi_run(request.fields);
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
                job_.collect(rank_.spool(), rank_.reporters(),
                             [this](std::string_view lines) { write(lines); });
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
        if (guard_.hung_up()) {
            answer_and_give_up(request, Failure("timeout", launcher_gone));
        }
        std::string message = deadline_passed;
        for (const std::string& sentence : rank_.places().motionless(false)) {
            message += "; " + sentence;
        }
        if (rank_.places().leaders().size() > 1) {
            wait_ns(last_words_ns);
        }
        answer_and_give_up(request, Failure("timeout", message));
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
    MpiRank rank_;
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
            const MpiRun parameters = read_mpi_run(request.fields);
            const auto watch = watch_for(parameters.timeout_ns);
            failure = rank_.run(request.id, parameters, ignored);
            deliver(failure);
        } else {
            const auto watch = watch_for(plain_timeout_ns);
            failure = request.verb == "facts" ? rank_.facts(request.id)
                      : request.verb == "place"
                          ? rank_.place(request.id, read_pin_request(request.fields))
                          : rank_.snapshot(request.id);
            deliver(failure);
        }
    }

    // The first rank of a host looks around at the deadline, so that what it sees is said before
    // rank 0 ends all; the others look at the first one, where nobody else has ended them.
    [[nodiscard]] Guard::Watch watch_for(std::int64_t timeout_ns) {
        const bool leads = rank_.places().leads_host();
        return {guard_, timeout_ns + (leads ? 0 : other_ranks_grace_ns), [this, leads] {
                    if (guard_.hung_up()) {
                        give_up(job_, launcher_gone);
                    }
                    for (const std::string& sentence : rank_.places().motionless(!leads)) {
                        mpi::say_line(sentence);
                    }
                    wait_ns(leads ? other_ranks_grace_ns : 0);
                    give_up(job_, deadline_passed);
                }};
    }

    void deliver(const std::optional<Failure>& failure) const {
        if (!failure && rank_.reports()) { // else nobody asks for records
            job_.deliver(rank_.spool());
        }
    }

    const mpi::Job& job_;
    MpiRank rank_;
    Guard guard_;
};

constexpr const char* shared_memory = "/dev/shm";
// Longer than any MPI takes from making a file to mapping it. Whoever does not see the processes
// that have mapped it (of another container) takes none of their files that is needed: all of a
// program's ranks have mapped it by then.
constexpr std::chrono::seconds leftovers_age{60};

int serve(int argc, char** argv, bool multiple) {
    mpi::remove_leftovers(shared_memory, leftovers_age);
    const mpi::Witness witness;
    Timebase timebase;
    mpi::Job job(argc, argv, multiple);
    witness.name("rank " + std::to_string(job.rank()) + " on " + job.host());
    for (const std::string& file : mpi::mapped_files(shared_memory)) {
        witness.removes(file);
    }
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
    const bool multiple = argc == 2 && argv[1] == multiple_option;
    if (argc > 1 && !multiple) { // answered without MPI, which may not be there
        const std::string_view question(argv[1]);
        const bool known =
            question == "--version" || question == "--operations" || question == "--help";
        const std::string answer = question == "--version" ? "sonde-mpi " NETSONDE_VERSION "\n"
                                   : question == "--operations"
                                       ? collective::operations_as_json_lines()
                                       : std::string(help_text);
        std::fputs(answer.c_str(), known ? stdout : stderr);
        return known ? 0 : status_usage;
    }
    // A launcher that reads no more is a failed write, which is said, and not a silent death.
    std::signal(SIGPIPE, SIG_IGN);
    watch_stops();
    try {
        return serve(argc, argv, multiple);
    } catch (const std::exception& error) {
        const std::string line = std::string("sonde-mpi: ") + error.what() + "\n";
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
        return status_failed;
    }
}
