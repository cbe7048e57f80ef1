#include "worker/pvm_task.hpp"

#include <unistd.h>

#include <ctime>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "counters/facts.hpp"
#include "counters/snapshot.hpp"
#include "transport/pvm/environment.hpp"
#include "transport/pvm/routes.hpp"

namespace sonde {
namespace {

using nlohmann::json;

constexpr std::size_t most_hosts = 1024;
constexpr std::size_t most_argument_characters = 256;
constexpr timespec between_looks{0, 2'000'000};
constexpr int most_looks = 100; // for the end of a daemon that its tasks notice first
constexpr std::int64_t guard_grace_ns = 1'000'000'000;
constexpr int status_failed = 3;
constexpr const char* not_enrolled =
    "the daemon of PVM let no task enrol: the daemons hear each other over UDP, which a firewall "
    "may drop";
constexpr const char* not_met = "the tasks did not meet in time: the ends of a direct route reach "
                                "each other over TCP, which a firewall may drop";

std::vector<std::string> read_addresses(Fields& fields) {
    std::vector<std::string> addresses;
    for (const json& one : fields.list("others", most_hosts)) {
        if (!one.is_string() ||
            one.get<std::string>().find_first_not_of("0123456789.") != std::string::npos) {
            throw Failure("bad_request",
                          "request: others: expected IPv4 addresses, got " + one.dump());
        }
        addresses.push_back(one.get<std::string>());
    }
    return addresses;
}

std::string read_address(Fields& fields) {
    std::string address = fields.text("address", 15);
    if (address.find_first_not_of("0123456789.") != std::string::npos) {
        throw Failure("bad_request", "request: address is " + address +
                                         ", expected an IPv4 address: PVM knows no other");
    }
    return address;
}

} // namespace

std::map<std::string, Handler> PvmTask::handlers() {
    return {
        {"facts", [this](Request& request) { return facts(request); }},
        {"snapshot", [this](Request& request) { return snapshot(request); }},
        {"sync", [](Request& request) { return sync(request); }},
        {"start_machine", [this](Request& request) { return start_machine(request); }},
        {"await_host", [this](Request& request) { return await_host(request); }},
        {"add_host", [this](Request& request) { return add_host(request); }},
        {"start_daemon", [this](Request& request) { return start_daemon(request); }},
        {"join", [this](Request& request) { return join(request); }},
        {"tidy", [this](Request& request) { return tidy(request); }},
        {"listen", [this](Request& request) { return listen(request); }},
        {"open", [this](Request& request) { return open(request); }},
        {"run", [this](Request& request) { return run(request); }},
        {"close", [this](Request& request) { return close(request); }},
    };
}

json PvmTask::facts(Request& request) {
    request.fields.finish();
    json values = host_facts();
    values["pvm.version"] = pvm::version();
    records_.facts(request.id, values);
    return json::object();
}

json PvmTask::snapshot(Request& request) {
    request.fields.finish();
    write_snapshot(records_, request.id, "now",
                   take_snapshot(session_ ? session_->own_traffic() : OwnTraffic{}));
    return json::object();
}

json PvmTask::sync(Request& request) {
    request.fields.finish();
    return {{"clock_ns", host_clock_ns(monotonic_ns())}, {"clock_group", clock_group()}};
}

pvm::Patience PvmTask::patience(std::int64_t timeout_ns) const {
    return {monotonic_ns() + timeout_ns, guard_.interrupted()};
}

pvm::Daemon& PvmTask::daemon() {
    if (!daemon_) {
        throw Failure("bad_request", "this worker has started no daemon of PVM");
    }
    return *daemon_;
}

// The first daemon: the machine is this host's until others are added.
json PvmTask::start_machine(Request& request) {
    const std::string address = read_address(request.fields);
    const std::vector<std::string> others = read_addresses(request.fields);
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
    interface_ = pvm::interface_with(address);
    daemon_.emplace(pvm::Daemon::first(cleaner_, address, others));
    daemon_->await_ready(patience(timeout_ns));
    return {{"folder", daemon_->folder()}, {"daemon", daemon_->process()}};
}

// What the daemon of the next host is to be started with.
json PvmTask::await_host(Request& request) {
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
    return {{"arguments", daemon().await_question(patience(timeout_ns))}};
}

json PvmTask::add_host(Request& request) {
    const std::string introduction = request.fields.text("introduction", most_argument_characters);
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
    daemon().answer(introduction, patience(timeout_ns));
    return json::object();
}

json PvmTask::start_daemon(Request& request) {
    const std::string address = read_address(request.fields);
    const std::string arguments = request.fields.text("arguments", most_argument_characters);
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
    interface_ = pvm::interface_with(address);
    daemon_.emplace(pvm::Daemon::further(cleaner_, arguments));
    return {{"introduction", daemon_->await_introduction(patience(timeout_ns))},
            {"folder", daemon_->folder()},
            {"daemon", daemon_->process()}};
}

// Enrols, and waits until the machine has so many hosts.
json PvmTask::join(Request& request) {
    const auto hosts = request.fields.integer("hosts", 1, most_hosts);
    const auto folder = request.fields.optional_text("folder", most_argument_characters);
    const std::int64_t timeout_ns = take_timeout(request.fields);
    request.fields.finish();
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns,
                             [this, id = request.id] { give_up(id, not_enrolled); });
    if (!enrolment_) {
        enrolment_.emplace(folder ? *folder : daemon().folder());
    }
    const pvm::Patience until = patience(timeout_ns);
    int known = pvm::Enrolment::hosts();
    while (known < hosts) {
        if (monotonic_ns() > until.until_ns || until.interrupted) {
            throw Failure("timeout", "the virtual machine has " + std::to_string(known) + " of " +
                                         std::to_string(hosts) +
                                         " hosts: the daemons of PVM do not hear each other over "
                                         "UDP; a firewall between them may drop it");
        }
        ::nanosleep(&between_looks, nullptr);
        known = pvm::Enrolment::hosts();
    }
    return {{"task", pvm::task_in_words(enrolment_->task())}};
}

json PvmTask::tidy(Request& request) {
    request.fields.finish();
    daemon().remove_files();
    return json::object();
}

int PvmTask::own_task() const {
    if (!enrolment_) {
        throw Failure("bad_request", "listen and open come after join");
    }
    return enrolment_->task();
}

PvmSurroundings PvmTask::surroundings() {
    return {own_task(), interface_, [this] { return daemon_counters(); }, guard_.interrupted()};
}

json PvmTask::listen(Request& request) {
    PvmOptions options = read_pvm_options(request.fields);
    request.fields.finish();
    session_.reset();
    records_.set_rank(target_rank);
    const int task = own_task();
    listening_ = std::move(options);
    return {{"task", pvm::task_in_words(task)}};
}

json PvmTask::open(Request& request) {
    Fields& fields = request.fields;
    const bool is_target = fields.text("role", 16) == "target";
    const std::int64_t timeout_ns = take_timeout(fields);
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns,
                             [this, id = request.id] { give_up(id, not_met); });
    try {
        if (is_target) {
            fields.finish();
            if (!listening_) {
                throw Failure("bad_request", "open as target comes after listen");
            }
            session_ = PvmSession::accept(*std::exchange(listening_, std::nullopt), surroundings(),
                                          timeout_ns);
        } else {
            const int target = pvm::task_of_words(fields.text("task", 16));
            const PvmOptions options = read_pvm_options(fields);
            fields.finish();
            session_.reset();
            records_.set_rank(origin_rank);
            session_ = PvmSession::connect(options, target, surroundings(), timeout_ns);
        }
    } catch (const Failure& failure) {
        throw explained(failure);
    }
    return session_->opened();
}

json PvmTask::run(Request& request) {
    const RunParameters parameters = read_socket_run_parameters(request.fields);
    if (!session_) {
        throw Failure("bad_request", "run comes after open; no task was met");
    }
    session_->check(parameters);
    try {
        return play(request.id, parameters);
    } catch (const Failure& failure) {
        session_.reset();
        throw explained(failure);
    } catch (const std::bad_alloc&) {
        session_.reset();
        throw Failure("no_memory", "not enough memory for this run");
    }
}

json PvmTask::play(std::int64_t request, const RunParameters& run) {
    Snapshot before;
    Snapshot after;
    const OwnTraffic own = session_->own_traffic();
    CounterSources sources;
    sources.system = run.system_counters;
    const BatchHooks hooks{[&] { before = take_snapshot(own, sources); },
                           [&] {
                               if (sources.system) {
                                   await_late_counters(own);
                               }
                               after = take_snapshot(own, sources);
                           }};
    Result result;
    {
        const Guard::Watch watch(guard_, run.timeout_ns, [this] { session_->interrupt(); });
        result = session_->run(run, timebase_, hooks);
    }
    write_snapshot(records_, request, "before", before);
    write_result(records_, request, result);
    write_snapshot(records_, request, "after", after);
    return done_values(result);
}

json PvmTask::close(Request& request) {
    request.fields.finish();
    session_.reset();
    return json::object();
}

CounterValues PvmTask::daemon_counters() const {
    return daemon_ ? daemon_->counters() : CounterValues{};
}

Failure PvmTask::explained(const Failure& failure) {
    const bool lost = failure.code() == "system" || guard_.signalled(); // a daemon ends its tasks
    for (int looks = 0; daemon_ && lost && looks < most_looks; ++looks) {
        if (const auto how = daemon_->ended()) {
            return {daemon_->was_halted() ? "peer_lost" : "system", "the daemon of PVM " + *how};
        }
        ::nanosleep(&between_looks, nullptr);
    }
    return guard_.interrupted() ? guard_.failure(failure.what()) : failure;
}

void PvmTask::give_up(std::int64_t request, const char* what) {
    const Failure failure = guard_.timed_out() ? Failure("system", what) // no consequence of others
                                               : guard_.failure("in a call of PVM's library");
    records_.error(request, failure.code(), failure.what());
    ::_exit(status_failed);
}

} // namespace sonde
