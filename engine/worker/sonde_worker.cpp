// sonde-worker: one end of TCP, UDP and ICMP tests. Reads requests on standard input, writes
// records on standard output; see docs/reference/records.md.
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "counters/facts.hpp"
#include "counters/snapshot.hpp"
#include "counters/withheld.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/meeting.hpp"
#include "transport/socket/uring.hpp"
#include "worker/asked_kernel_trace.hpp"
#include "worker/echo_session.hpp"
#include "worker/generator.hpp"
#include "worker/host_benchmark_verbs.hpp"
#include "worker/offers.hpp"
#include "worker/socket_session.hpp"

// Series, datagram numbers and control frames are little-endian as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "sonde-worker runs on little-endian hosts only");

namespace {

using namespace sonde;
using nlohmann::json;

constexpr int status_usage = 2;
constexpr int status_failed = 3;
constexpr int origin_rank = 0;
constexpr int target_rank = 1;
// The guard is the second line behind a wait's own deadline.
constexpr std::int64_t guard_grace_ns = 1'000'000'000;

SocketKind take_kind(Fields& fields) {
    const std::string name = fields.text("transport", 16);
    if (name != "tcp" && name != "udp") {
        throw Failure("bad_request", "request: transport is " + name + ", expected tcp or udp");
    }
    return name == "tcp" ? SocketKind::tcp : SocketKind::udp;
}

class Worker {
public:
    Worker(RecordWriter& records, Timebase& timebase, Guard& guard)
        : records_(records), timebase_(timebase), guard_(guard) {}

    [[nodiscard]] std::map<std::string, Handler> handlers() {
        return {
            {"facts", [this](Request& request) { return facts(request); }},
            {"snapshot", [this](Request& request) { return snapshot(request); }},
            {"sync", [](Request& request) { return sync(request); }},
            {"listen", [this](Request& request) { return listen(request); }},
            {"open", [this](Request& request) { return open(request); }},
            {"run", [this](Request& request) { return run(request); }},
            {"generate", [this](Request& request) { return generate(request); }},
            {"read_clock",
             [this](Request& request) {
                 return answer_read_clock(request, records_, timebase_, guard_);
             }},
            {"sleep", [this](Request& request) { return answer_sleep(request, records_, guard_); }},
            {"work",
             [this](Request& request) {
                 return answer_work(request, records_, timebase_, guard_);
             }},
            {"copy",
             [this](Request& request) {
                 return answer_copy(request, records_, timebase_, guard_);
             }},
            {"hand_over",
             [this](Request& request) { return answer_hand_off(request, records_, guard_); }},
            {"hint", [this](Request& request) { return answer_hint(request, records_, guard_); }},
            {"burn", [this](Request& request) { return answer_burn(request, burner_); }},
            {"offers", [](Request& request) { return answer_offers(request); }},
            {"rest", [this](Request& request) { return answer_rest(request, records_, burner_); }},
            {"close", [this](Request& request) { return close(request); }},
        };
    }

private:
    json facts(Request& request) {
        request.fields.finish();
        records_.facts(request.id, host_facts());
        return json::object();
    }

    json snapshot(Request& request) {
        request.fields.finish();
        Snapshot now = take_snapshot(own_traffic());
        kernel_trace_.add_now(now.values);
        write_snapshot(records_, request.id, "now", now);
        return json::object();
    }

    // Whoever asks learns this host's clock, to within the time that asking took.
    static json sync(Request& request) {
        request.fields.finish();
        return {{"clock_ns", host_clock_ns(monotonic_ns())}, {"clock_group", clock_group()}};
    }

    json listen(Request& request) {
        ListenParameters parameters = take_listen_parameters(request.fields);
        close_all();
        records_.set_rank(target_rank);
        kernel_trace_.ask(parameters.options.depth); // before anybody waits for this end
        listener_ = std::make_unique<Listener>(std::move(parameters));
        // Where no `open` follows in time, nobody gets in any more.
        listening_.emplace(guard_, listener_->timeout_ns(),
                           [listener = listener_.get()] { listener->interrupt(); });
        return {{"port", listener_->port()}};
    }

    static ListenParameters take_listen_parameters(Fields& fields) {
        ListenParameters parameters;
        parameters.kind = take_kind(fields);
        parameters.family = read_family(fields);
        parameters.cookie = parse_cookie(fields.text("cookie", 32));
        const auto port =
            static_cast<std::uint16_t>(fields.optional_integer("port", 0, 65535).value_or(0));
        const auto address = fields.optional_text("address", 64);
        parameters.address = address ? SocketAddress(parameters.family, *address, port)
                                     : SocketAddress::any(parameters.family, port);
        if (const auto allowed = fields.optional_text("allow_address", 64)) {
            parameters.allow = SocketAddress(parameters.family, *allowed, 0);
        }
        parameters.options = read_socket_options(fields, parameters.kind == SocketKind::tcp);
        parameters.timeout_ns = take_timeout(fields);
        fields.finish();
        require_uring(parameters.options);
        return parameters;
    }

    json open(Request& request) {
        const std::string role = request.fields.text("role", 16);
        if (role == "target") {
            return open_target(request.fields);
        }
        if (role == "origin") {
            return open_origin(request.fields);
        }
        if (role == "alone") {
            return open_alone(request.fields);
        }
        throw Failure("bad_request",
                      "request: role is " + role + ", expected origin, target or alone");
    }

    json open_target(Fields& fields) {
        const std::int64_t timeout_ns = take_timeout(fields);
        fields.finish();
        if (!listener_) {
            throw Failure("bad_request", "open as target comes after listen");
        }
        listening_.reset();
        const std::unique_ptr<Listener> listener = std::move(listener_); // closed on every way out
        const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
        return opened([&] { return listener->accept(Deadline(timeout_ns, guard_.interrupted())); },
                      target_rank);
    }

    json open_origin(Fields& fields) {
        ConnectParameters parameters;
        parameters.kind = take_kind(fields);
        const Family family = read_family(fields);
        parameters.cookie = parse_cookie(fields.text("cookie", 32));
        const std::string address = fields.text("address", 64);
        parameters.target = SocketAddress(
            family, address, static_cast<std::uint16_t>(fields.integer("port", 0, 65535)));
        parameters.options = read_socket_options(fields, parameters.kind == SocketKind::tcp);
        const std::int64_t timeout_ns = take_timeout(fields);
        fields.finish();
        require_uring(parameters.options);
        close_all();
        records_.set_rank(origin_rank);
        kernel_trace_.ask(parameters.options.depth);
        const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
        return opened(
            [&] {
                return connect_to_target(parameters, Deadline(timeout_ns, guard_.interrupted()));
            },
            origin_rank);
    }

    // Nobody of ours is at the other end, and opening waits for nothing.
    json open_alone(Fields& fields) {
        if (const std::string name = fields.text("transport", 16); name != "icmp") {
            throw Failure("bad_request", "request: transport is " + name +
                                             ", expected icmp where the role is alone");
        }
        const EchoParameters parameters = read_echo_parameters(fields);
        close_all();
        records_.set_rank(origin_rank);
        echoes_ = std::make_unique<EchoSession>(parameters, guard_.interrupted());
        return echoes_->opened();
    }

    template <class Connect>
    json opened(Connect connect, int rank) {
        try {
            session_.reset();
            session_ = std::make_unique<SocketSession>(connect(), rank, guard_.interrupted());
            kernel_trace_.watch(session_->test_socket(), session_->control_socket());
            json values = session_->opened();
            kernel_trace_.add_to(values);
            return values;
        } catch (const Failure& failure) {
            throw explained(failure);
        }
    }

    json run(Request& request) {
        const RunParameters parameters = read_socket_run_parameters(request.fields);
        if (!session_ && !echoes_) {
            throw Failure("bad_request", "run comes after open; no transport is open");
        }
        return echoes_ ? run_over(*echoes_, request.id, parameters)
                       : run_over(*session_, request.id, parameters);
    }

    template <class Session>
    json run_over(Session& session, std::int64_t request, const RunParameters& parameters) {
        session.check(parameters);
        try {
            std::optional<Meeting> meeting;
            if (!parameters.meeting.name.empty()) {
                meeting.emplace(parameters.meeting, parameters.rounds,
                                Deadline(parameters.timeout_ns, guard_.interrupted()));
            }
            return traced(request, parameters, session, [&](BatchHooks hooks) {
                hooks.next_round = [&meeting] { return meeting->next_round(); };
                hooks.time_outs = retransmission_time_outs;
                return session.run(parameters, timebase_, hooks);
            });
        } catch (const Failure& failure) {
            fail(explained(failure));
        } catch (const std::bad_alloc&) {
            fail({"no_memory", "not enough memory for this run"});
        } catch (const std::exception& error) {
            fail({"system", error.what()});
        }
    }

    // Traffic to somebody who does not answer; no transport is open meanwhile.
    json generate(Request& request) {
        const GeneratorParameters parameters = read_generator_parameters(request.fields);
        close_all();
        records_.set_rank(origin_rank);
        Generator generator(parameters, guard_.interrupted());
        try {
            return traced(request.id, parameters.run, generator, [&](const BatchHooks& hooks) {
                Result result = generator.run(timebase_, hooks);
                if (guard_.timed_out()) {
                    throw Failure("timeout", "while datagrams were sent");
                }
                return result;
            });
        } catch (const Failure& failure) {
            throw explained(failure);
        } catch (const std::bad_alloc&) {
            throw Failure("no_memory", "not enough memory for this run");
        }
    }

    // Plays it between two snapshots, bounded in time, and writes what was found.
    template <class Ended, class Play>
    json traced(std::int64_t request, const RunParameters& parameters, Ended& end, Play play) {
        trace_ = {};
        const OwnTraffic own = end.own_traffic();
        CounterSources sources;
        sources.system = parameters.system_counters;
        const BatchHooks hooks{[&] {
                                   trace_.before = take_snapshot(own, sources);
                                   kernel_trace_.add_before(trace_.before.values);
                               },
                               [&] {
                                   CounterValues waits; // without those of reading the rest
                                   kernel_trace_.add_now(waits);
                                   kernel_trace_.take_events();
                                   if (sources.system) {
                                       await_late_counters(own);
                                   }
                                   trace_.after = take_snapshot(own, sources);
                                   trace_.after.values.merge(waits);
                               }};
        Result result;
        {
            const Guard::Watch watch(guard_, parameters.timeout_ns, [&end] { end.interrupt(); });
            result = play(hooks);
        }
        kernel_trace_.report(result);
        write_snapshot(records_, request, "before", trace_.before);
        write_result(records_, request, result);
        write_snapshot(records_, request, "after", trace_.after);
        return done_values(result);
    }

    // A run that failed leaves messages on their way: nothing more can be measured over it.
    [[noreturn]] void fail(const Failure& failure) {
        if (session_) {
            session_->abort(failure.code());
        }
        session_.reset();
        echoes_.reset();
        kernel_trace_.forget();
        throw Failure(failure.code(), std::string(failure.what()) + "; the transport was closed");
    }

    // An interruption shows as a failed call; this says what interrupted it.
    [[nodiscard]] Failure explained(const Failure& failure) const {
        return guard_.interrupted() ? guard_.failure(failure.what()) : failure;
    }

    json close(Request& request) {
        request.fields.finish();
        close_all();
        return json::object();
    }

    void close_all() {
        listening_.reset();
        listener_.reset();
        session_.reset();
        echoes_.reset();
        kernel_trace_.forget();
    }

    [[nodiscard]] OwnTraffic own_traffic() const {
        return session_ ? session_->own_traffic() : echoes_ ? echoes_->own_traffic() : OwnTraffic{};
    }

    struct Trace {
        Snapshot before;
        Snapshot after;
    };

    RecordWriter& records_;
    Timebase& timebase_;
    Guard& guard_;
    std::unique_ptr<Listener> listener_;
    std::optional<Guard::Watch> listening_;
    std::unique_ptr<SocketSession> session_;
    std::unique_ptr<EchoSession> echoes_;
    std::unique_ptr<Burner> burner_;
    AskedKernelTrace kernel_trace_;
    Trace trace_;
};

struct CommandLine {
    std::string host;
    int rank = 0;
    bool help = false;
    bool version = false;
};

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data()
                                                                               : "unknown";
}

int parse_rank(std::string_view text) {
    constexpr int most_rank = 1'048'575;
    int rank = -1;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || stop != text.data() + text.size() || rank < 0 || rank > most_rank) {
        throw Failure("bad_request", "--rank is " + std::string(text) +
                                         ", expected a number from 0 to " +
                                         std::to_string(most_rank));
    }
    return rank;
}

CommandLine parse_command_line(std::span<char* const> words) {
    CommandLine line{.host = host_name()};
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool has_value = i + 1 < words.size();
        if (word == "--help" || word == "-h") {
            line.help = true;
        } else if (word == "--version") {
            line.version = true;
        } else if (word == "--host" && has_value) {
            line.host = words[++i];
        } else if (word == "--rank" && has_value) {
            line.rank = parse_rank(words[++i]);
        } else {
            throw Failure("bad_request", "unknown option or missing value: " + std::string(word) +
                                             "; see sonde-worker --help");
        }
    }
    if (line.host.empty() || line.host.size() > 255) {
        throw Failure("bad_request", "--host must be a name of 1 to 255 characters");
    }
    return line;
}

constexpr std::string_view help_text =
    "usage: sonde-worker [--host NAME] [--rank N] [--version] [--help]\n"
    "\n"
    "One end of netsonde's TCP, UDP and ICMP tests. Reads requests, one JSON object a line, on\n"
    "standard input and writes records, one JSON object a line, on standard output, until `quit`\n"
    "or the end of the input. Normally netsonde starts it; by hand:\n"
    "\n"
    "  (echo '{\"verb\": \"facts\", \"request\": 1}'; sleep 1) | sonde-worker\n"
    "\n"
    "  --host NAME   name of this host in the records (default: the host's own)\n"
    "  --rank N      rank in the records until a role is known: 0 origin, 1 target (default 0)\n";

// Signals that ask the process to end become readable here instead of interrupting anything.
int make_signal_descriptor() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&ending, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    const int fd = ::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        throw system_failure("receive signals");
    }
    std::signal(SIGPIPE, SIG_IGN); // NOLINT(cert-err33-c): a lost reader shows as EPIPE
    return fd;
}

void serve(const CommandLine& line) {
    const int signal_fd = make_signal_descriptor();
    watch_stops();
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); // paced datagrams sleep until just before their time
    RecordWriter records(STDOUT_FILENO, line.host, line.rank);
    Timebase timebase;
    Guard guard(STDIN_FILENO, signal_fd);
    records.hello("sonde-worker", NETSONDE_VERSION, 2, timebase.facts());
    Worker worker(records, timebase, guard);
    serve_requests(STDIN_FILENO, records, worker.handlers(), signal_fd);
}

/// What ps and top call this process. A copy that was sent to its host is started by way of a
/// descriptor, and would be "9" and "/proc/PID/fd/9" there, which tells nobody what it is.
void show_own_name(std::span<char*> words) {
    constexpr std::string_view name = "sonde-worker";
    ::prctl(PR_SET_NAME, name.data(), 0, 0, 0);
    if (words.empty()) {
        return;
    }
    const std::string_view path(words.front());
    if (path.starts_with("/proc/") && path.size() >= name.size()) {
        const std::span<char> given(words.front(), path.size());
        std::ranges::fill(given, '\0');
        std::ranges::copy(name, given.begin());
    }
}

} // namespace

int main(int argc, char** argv) {
    try {
        const CommandLine line = parse_command_line({argv, static_cast<std::size_t>(argc)});
        if (line.help || line.version) {
            std::fputs(line.help ? std::string(help_text).c_str()
                                 : "sonde-worker " NETSONDE_VERSION "\n",
                       stdout);
            return 0;
        }
        show_own_name({argv, static_cast<std::size_t>(argc)});
        serve(line);
        return 0;
    } catch (const Failure& failure) {
        std::fprintf(stderr, "sonde-worker: %s\n", failure.what());
        return failure.code() == "bad_request" ? status_usage : status_failed;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sonde-worker: %s\n", error.what());
        return status_failed;
    }
}
