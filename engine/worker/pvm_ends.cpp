#include "worker/pvm_ends.hpp"

#include <pvm3.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "core/failure.hpp"
#include "transport/pvm/library.hpp"

namespace sonde {
namespace {

using nlohmann::json;

struct EncodingName {
    std::string_view name;
    int encoding;
};
constexpr std::array encodings{EncodingName{"default", PvmDataDefault},
                               EncodingName{"raw", PvmDataRaw},
                               EncodingName{"in-place", PvmDataInPlace}};
constexpr std::int64_t look_up_ns = 50'000'000; // so often it looks whether it was interrupted
// Messages that set the route up, before anything is timed.
constexpr int first_exchanges = 5;

// One of two words; whether it is the second.
bool read_second(Fields& fields, std::string_view name, std::string_view usual,
                 std::string_view other) {
    const std::string word = fields.optional_text(name, 16).value_or(std::string(usual));
    if (word != usual && word != other) {
        throw Failure("bad_request", "request: options: " + std::string(name) + " is " + word +
                                         ", expected " + std::string(usual) + " or " +
                                         std::string(other));
    }
    return word == other;
}

// Waits for a message of a tag from anybody, or from one; its sender.
int await_greeting(int from, const PvmSurroundings& around, std::int64_t timeout_ns) {
    const std::int64_t until_ns = monotonic_ns() + timeout_ns;
    timeval slice{0, look_up_ns / 1000};
    int buffer = 0;
    while (buffer == 0) {
        buffer =
            pvm::checked(::pvm_trecv(from, pvm::greeting_tag, &slice), "wait for the other end");
        if (buffer == 0 && (monotonic_ns() > until_ns || around.interrupted)) {
            throw Failure("timeout", "while waiting for the other end's greeting in the virtual "
                                     "machine");
        }
    }
    int sender = 0;
    pvm::checked(::pvm_bufinfo(buffer, nullptr, nullptr, &sender), "look at a greeting");
    return sender;
}

void greet(int peer) {
    pvm::checked(::pvm_initsend(PvmDataRaw), "begin a greeting");
    pvm::checked(::pvm_send(peer, pvm::greeting_tag), "greet the other end");
}

void ask_route(int route) { pvm::checked(::pvm_setopt(PvmRoute, route), "choose a route"); }

} // namespace

PvmOptions read_pvm_options(Fields& fields) {
    Fields options = fields.object("options");
    PvmOptions found;
    found.encoding_name = options.optional_text("encoding", 16).value_or("default");
    const auto* const named =
        std::ranges::find(encodings, std::string_view(found.encoding_name), &EncodingName::name);
    if (named == encodings.end()) {
        throw Failure("bad_request", "request: options: encoding is " + found.encoding_name +
                                         ", expected default, raw or in-place");
    }
    found.encoding = named->encoding;
    found.direct = read_second(options, "route", "normal", "direct");
    found.times_pack = !read_second(options, "timed", "pack", "send");
    if (const auto cpu = options.optional_integer("cpu", 0, CPU_SETSIZE - 1)) {
        found.cpu = static_cast<int>(*cpu);
    }
    options.finish();
    return found;
}

PvmSession::PvmSession(PvmOptions options, int rank, int peer, PvmSurroundings around)
    : options_(std::move(options)), rank_(rank), peer_(peer), around_(std::move(around)),
      route_(pvm::direct_route()), descriptors_(pvm::descriptors()), pinned_(options_.cpu) {}

std::unique_ptr<PvmSession> PvmSession::connect(const PvmOptions& options, int target,
                                                const PvmSurroundings& around,
                                                std::int64_t timeout_ns) {
    ask_route(options.direct ? PvmRouteDirect : PvmDontRoute);
    for (int i = 0; i < first_exchanges; ++i) {
        greet(target);
        await_greeting(target, around, timeout_ns);
    }
    return std::make_unique<PvmSession>(options, origin_rank, target, around);
}

std::unique_ptr<PvmSession> PvmSession::accept(const PvmOptions& options,
                                               const PvmSurroundings& around,
                                               std::int64_t timeout_ns) {
    ask_route(options.direct ? PvmAllowDirect : PvmDontRoute);
    int origin = -1; // anybody; the machine is ours alone
    for (int i = 0; i < first_exchanges; ++i) {
        origin = await_greeting(origin, around, timeout_ns);
        greet(origin);
    }
    return std::make_unique<PvmSession>(options, target_rank, origin, around);
}

json PvmSession::opened() const {
    json values{{"encoding", options_.encoding_name},
                {"route_asked", options_.direct ? "direct" : "normal"},
                {"route", route_ ? "direct" : "normal"},
                {"packing_timed", options_.times_pack},
                {"pvm_version", pvm::version()},
                {"task", pvm::task_in_words(around_.own_task)},
                {"peer_task", pvm::task_in_words(peer_)},
                {"fragment_bytes", ::pvm_getopt(PvmFragSize)},
                {"descriptors", descriptors_.size()}};
    if (route_) {
        values["route_over"] = route_->is_local ? "a socket within the host" : "TCP";
    }
    if (!around_.interface.empty()) {
        values["interface"] = around_.interface;
    }
    return values;
}

void PvmSession::check(const RunParameters& run) const {
    pvm::require_countable(run.message_bytes);
    if (run.test != Test::latency && run.test != Test::pingpong && run.test != Test::stream) {
        throw Failure("bad_request", "PVM's tasks have no threads: the tests are latency, pingpong "
                                     "and stream");
    }
    if (run.rounds != 0) {
        throw Failure("bad_request", "rounds are for sockets, not for PVM");
    }
    if (!options_.times_pack && run.test == Test::stream) {
        throw Failure("bad_request", "timed = send is for latency and pingpong: a stream packs "
                                     "each of its messages");
    }
}

template <class Path>
Result PvmSession::run_over(Path path, const RunParameters& run, Timebase& timebase,
                            const BatchHooks& hooks) {
    pvm::Control control(peer_);
    Result result = run_test(path, control, rank_, batch_, run, timebase, hooks);
    if constexpr (requires { path.end(); }) {
        path.end();
    }
    return result;
}

Result PvmSession::run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    ++batch_;
    if (run.test == Test::stream && !route_) {
        return run_over(pvm::StreamPath(peer_, options_.encoding), run, timebase, hooks);
    }
    if (!options_.times_pack) {
        return run_over(pvm::PackedPath(peer_, options_.encoding), run, timebase, hooks);
    }
    return run_over(pvm::Path(peer_, options_.encoding), run, timebase, hooks);
}

OwnTraffic PvmSession::own_traffic() const {
    return {[route = route_, counters = around_.counters] {
                CounterValues values = counters ? counters() : CounterValues{};
                if (const auto traffic = route ? pvm::traffic_of(*route) : std::nullopt) {
                    values["pvm.direct_acknowledged_bytes"] = traffic->acknowledged_bytes;
                    values["pvm.direct_received_bytes"] = traffic->received_bytes;
                }
                return values;
            },
            around_.interface};
}

void PvmSession::interrupt() noexcept {
    for (const int fd : descriptors_) {
        ::shutdown(fd, SHUT_RDWR);
    }
}

} // namespace sonde
