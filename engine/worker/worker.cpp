#include "worker/worker.hpp"

#include <exception>
#include <new>
#include <utility>

#include "counters/facts.hpp"
#include "transport/socket/waiting.hpp"
#include "worker/claims.hpp"
#include "worker/generator.hpp"
#include "worker/host_benchmark_verbs.hpp"
#include "worker/meeting.hpp"
#include "worker/offers.hpp"

namespace sonde {
namespace {

using nlohmann::json;

// The guard is the second line behind a wait's own deadline.
constexpr std::int64_t guard_grace_ns = 1'000'000'000;

} // namespace

std::map<std::string, Handler> Worker::handlers() {
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
         [this](Request& request) { return answer_work(request, records_, timebase_, guard_); }},
        {"copy",
         [this](Request& request) { return answer_copy(request, records_, timebase_, guard_); }},
        {"hand_over",
         [this](Request& request) { return answer_hand_off(request, records_, guard_); }},
        {"hint", [this](Request& request) { return answer_hint(request, records_, guard_); }},
        {"burn", [this](Request& request) { return answer_burn(request, burner_); }},
        {"offers", [](Request& request) { return answer_offers(request); }},
        {"rest", [this](Request& request) { return answer_rest(request, records_, burner_); }},
        {"claim", [this](Request& request) { return answer_claim(request, claimed_); }},
        {"release", [this](Request& request) { return answer_release(request, claimed_); }},
        {"close", [this](Request& request) { return close(request); }},
    };
}

json Worker::facts(Request& request) {
    request.fields.finish();
    records_.facts(request.id, host_facts());
    return json::object();
}

json Worker::snapshot(Request& request) {
    request.fields.finish();
    Snapshot now = take_snapshot(own_traffic());
    kernel_trace_.add_now(now.values);
    write_snapshot(records_, request.id, "now", now);
    return json::object();
}

// Whoever asks learns this host's clock, to within the time that asking took.
json Worker::sync(Request& request) {
    request.fields.finish();
    return {{"clock_ns", host_clock_ns(monotonic_ns())}, {"clock_group", clock_group()}};
}

json Worker::listen(Request& request) {
    const Opening<ListeningEnd> opening =
        read_end(known_, &WorkerTransport::listen, request.fields);
    close_all();
    records_.set_rank(target_rank);
    kernel_trace_.ask(opening.kernel_trace); // before anybody waits for this end
    listener_ = opening.make(guard_.interrupted());
    // Where no `open` follows in time, nobody gets in any more.
    listening_.emplace(guard_, opening.timeout_ns,
                       [listener = listener_.get()] { listener->interrupt(); });
    return listener_->listening();
}

json Worker::open(Request& request) {
    Fields& fields = request.fields;
    const std::string role = fields.text("role", 16);
    if (role == "target") {
        return open_target(fields);
    }
    if (role == "origin") {
        return open_at_once(read_end(known_, &WorkerTransport::connect, fields));
    }
    if (role == "alone") {
        return open_at_once(
            read_end(known_, &WorkerTransport::alone, fields, " where the role is alone"));
    }
    throw Failure("bad_request", "request: role is " + role + ", expected origin, target or alone");
}

json Worker::open_target(Fields& fields) {
    const std::int64_t timeout_ns = take_timeout(fields);
    fields.finish();
    if (!listener_) {
        throw Failure("bad_request", "open as target comes after listen");
    }
    listening_.reset();
    const std::unique_ptr<ListeningEnd> listener = std::move(listener_); // closed on every way out
    const Guard::Watch watch(guard_, timeout_ns + guard_grace_ns, [] {});
    return opened([&] { return listener->accept(timeout_ns); });
}

json Worker::open_at_once(const Opening<Session>& opening) {
    close_all();
    records_.set_rank(origin_rank);
    kernel_trace_.ask(opening.kernel_trace);
    const Guard::Watch watch(guard_, opening.timeout_ns + guard_grace_ns, [] {});
    return opened([&] { return opening.make(guard_.interrupted()); });
}

json Worker::opened(const std::function<std::unique_ptr<Session>()>& open) {
    try {
        session_.reset();
        session_ = open();
        if (const auto sockets = session_->sockets()) {
            kernel_trace_.watch(sockets->test, sockets->control);
        }
        json values = session_->opened();
        kernel_trace_.add_to(values);
        return values;
    } catch (const Failure& failure) {
        throw explained(failure);
    }
}

// Plays it between two snapshots, bounded in time, and writes what was found.
template <class End, class Play>
json Worker::traced(std::int64_t request, const RunParameters& parameters, End& end, Play play) {
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

json Worker::run(Request& request) {
    const RunParameters parameters = read_socket_run_parameters(request.fields);
    if (!session_) {
        throw Failure("bad_request", "run comes after open; no transport is open");
    }
    session_->check(parameters);
    try {
        std::optional<Meeting> meeting;
        if (!parameters.meeting.name.empty()) {
            meeting.emplace(parameters.meeting, parameters.rounds,
                            Deadline(parameters.timeout_ns, guard_.interrupted()));
        }
        return traced(request.id, parameters, *session_, [&](BatchHooks hooks) {
            hooks.next_round = [&meeting] { return meeting->next_round(); };
            hooks.time_outs = retransmission_time_outs;
            return session_->run(parameters, timebase_, hooks);
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
json Worker::generate(Request& request) {
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

void Worker::fail(const Failure& failure) {
    if (session_) {
        session_->abort(failure.code());
    }
    session_.reset();
    kernel_trace_.forget();
    throw failure;
}

Failure Worker::explained(const Failure& failure) const {
    return guard_.interrupted() ? guard_.failure(failure.what()) : failure;
}

json Worker::close(Request& request) {
    request.fields.finish();
    close_all();
    return json::object();
}

void Worker::close_all() {
    listening_.reset();
    listener_.reset();
    session_.reset();
    kernel_trace_.forget();
}

OwnTraffic Worker::own_traffic() const { return session_ ? session_->own_traffic() : OwnTraffic{}; }

std::string any_of(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != 0) {
            text += i + 1 == names.size() ? " or " : ", ";
        }
        text += names[i];
    }
    return text;
}

} // namespace sonde
