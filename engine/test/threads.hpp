// Round trips of several threads at the same time, each over a path of its own between the same two
// ends. Every sample is kept with its thread.
//
// Threads and their memory are there before the ends synchronise, so that neither is in a round
// trip. The first one is the thread that calls: one alone is what a program without threads is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "test/synchronise.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Threads that wait until they are let go, once. Thread 0 is the one that calls play().
class Team {
public:
    // body(i) is thread i's part. on_failure is called by a thread whose part has thrown, at once:
    // the others may wait for it for ever. Throws Failure where the system gives no more threads.
    Team(std::size_t size, std::function<void(std::size_t)> body,
         std::function<void(const std::exception&)> on_failure)
        : body_(std::move(body)), on_failure_(std::move(on_failure)) {
        try {
            for (std::size_t i = 1; i < size; ++i) {
                others_.emplace_back([this, i] {
                    word_.wait(Word::none);
                    if (word_ == Word::go) {
                        act(i);
                    }
                });
            }
        } catch (const std::system_error& error) {
            send_away();
            throw Failure("system", "cannot start thread " + std::to_string(others_.size() + 1) +
                                        " of " + std::to_string(size) + ": " +
                                        error.code().message());
        }
    }
    ~Team() { send_away(); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Returns when all have done their part; throws what was thrown first in one.
    void play() {
        say(Word::go);
        act(0);
        join();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

private:
    enum class Word : std::uint8_t { none, go, away };

    void say(Word word) {
        word_ = word;
        word_.notify_all();
    }

    void send_away() {
        if (word_ == Word::none) {
            say(Word::away);
        }
        join();
    }

    void join() {
        for (std::thread& other : others_) {
            if (other.joinable()) {
                other.join();
            }
        }
    }

    void act(std::size_t number) {
        try {
            body_(number);
        } catch (const std::exception& error) {
            {
                const std::scoped_lock lock(failing_);
                if (!failure_) {
                    failure_ = std::current_exception();
                }
            }
            on_failure_(error);
        }
    }

    std::function<void(std::size_t)> body_;
    std::function<void(const std::exception&)> on_failure_;
    std::mutex failing_;
    std::exception_ptr failure_;
    std::atomic<Word> word_ = Word::none;
    std::vector<std::thread> others_; // last: they use the others
};

// What one thread works with. Lanes share no cache line, nor two that are fetched together.
template <class Path, class End>
struct alignas(128) Lane {
    Lane(Path own, const RunParameters& run) : path(std::move(own)), end(run) {}

    Path path;
    End end;
    std::uint64_t begin_ticks = 0;
    std::uint64_t end_ticks = 0;
    int cpu = -1;
};

// One end of one batch: as many threads as paths. `batch` tells the batches of a session apart.
template <class Clock, MessageTransport Path, ControlChannel Control>
class ThreadedBatch {
    static_assert(!Path::datagrams, "round trips of threads need a transport that loses nothing");

public:
    ThreadedBatch(const std::vector<Path>& paths, Control& control, int rank, std::uint32_t batch,
                  const RunParameters& run, Timebase& timebase, const BatchHooks& hooks,
                  std::function<void(const std::exception&)> on_failure)
        : paths_(paths), control_(control), rank_(rank), batch_(batch), run_(run),
          timebase_(timebase), hooks_(hooks), on_failure_(std::move(on_failure)) {}

    Result play() { return rank_ == 0 ? origin() : target(); }

private:
    template <class End>
    using Lanes = std::deque<Lane<Path, End>>;

    Result origin() {
        auto lanes = lanes_of<RoundTripOrigin<Path>>();
        Team team(
            lanes.size(),
            [&](std::size_t i) {
                timed(lanes[i],
                      [&](auto& lane) { lane.end.template play<Clock>(lane.path, start_); });
            },
            on_failure_);
        begin();
        team.play();
        const Totals sent = sum(lanes, [](const auto& end) { return end.sent(); });
        say_sent(control_, sent);
        require_complete(sent, hear_received(control_));
        finish(Clock::now());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            add_samples(i, lanes[i].end);
        }
        result_.series.push_back({"round_trip_ns", "ns", std::move(round_trips_ns_)});
        result_.series.push_back({"thread", "count", std::move(threads_)});
        report(lanes);
        return std::move(result_);
    }

    Result target() {
        auto lanes = lanes_of<RoundTripTarget<Path>>();
        Team team(
            lanes.size(),
            [&](std::size_t i) {
                timed(lanes[i], [&](auto& lane) {
                    auto ended = [] { return false; }; // asked over datagrams only
                    lane.end.template play<Clock>(lane.path, start_, ended);
                });
            },
            on_failure_);
        begin();
        team.play();
        hear_sent(control_);
        say_received(control_, sum(lanes, [](const auto& end) { return end.received(); }));
        finish(Clock::now());
        for (const auto& lane : lanes) {
            Result part;
            lane.end.report(part);
            add_counters(part);
        }
        report(lanes);
        return std::move(result_);
    }

    // Each thread has content of its own, so that one that got another's message finds it wrong.
    template <class End>
    Lanes<End> lanes_of() const {
        constexpr std::uint64_t step = 1'000'003;
        Lanes<End> lanes;
        RunParameters run = run_;
        for (const Path& path : paths_) {
            lanes.emplace_back(path, run);
            run.seed += step;
        }
        return lanes;
    }

    template <class Each, class Play>
    static void timed(Each& lane, Play play) {
        lane.begin_ticks = Clock::now();
        play(lane);
        lane.end_ticks = Clock::now();
        lane.cpu = current_cpu();
    }

    void begin() {
        hooks_.before();
        timebase_.refresh(); // the clocks of both ends are compared now
        start_ = rank_ == 0 ? synchronise_origin<Clock>(control_, batch_, run_.fingerprint(),
                                                        timebase_, {run_.settle_ns}, [] {})
                            : synchronise_target<Clock>(control_, run_.fingerprint(), timebase_);
    }

    template <class All, class Of>
    static Totals sum(const All& lanes, Of of) {
        Totals all;
        for (const auto& lane : lanes) {
            const Totals one = of(lane.end);
            all.messages += one.messages;
            all.bytes += one.bytes;
        }
        return all;
    }

    void finish(std::uint64_t end_ticks) {
        const int cpu = current_cpu();
        hooks_.after();
        timebase_.refresh();
        note_boundaries(result_, rank_, timebase_, start_, end_ticks);
        result_.counters["cpu"] = cpu;
    }

    void add_samples(std::size_t thread, const RoundTripOrigin<Path>& end) {
        Result part;
        end.report(part, timebase_);
        const std::vector<std::int64_t>& times = part.series.front().values;
        round_trips_ns_.insert(round_trips_ns_.end(), times.begin(), times.end());
        threads_.insert(threads_.end(), times.size(), static_cast<std::int64_t>(thread));
        add_counters(part);
    }

    void add_counters(const Result& part) {
        for (const auto& [name, value] : part.counters) {
            result_.counters[name] += value;
        }
    }

    // When each thread began and ended, from the start of the batch, and where it ran last.
    template <class All>
    void report(const All& lanes) {
        const std::int64_t start_ns = timebase_.to_ns(start_.ticks);
        std::vector<std::int64_t> begins_ns;
        std::vector<std::int64_t> ends_ns;
        std::vector<std::int64_t> processors;
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        for (const auto& lane : lanes) {
            begins_ns.push_back(timebase_.to_ns(lane.begin_ticks) - start_ns);
            ends_ns.push_back(timebase_.to_ns(lane.end_ticks) - start_ns);
            processors.push_back(lane.cpu);
            sent += lane.path.calls_sent();
            received += lane.path.calls_received();
        }
        result_.series.push_back({"thread_begin_ns", "ns", std::move(begins_ns)});
        result_.series.push_back({"thread_end_ns", "ns", std::move(ends_ns)});
        result_.series.push_back({"thread_cpu", "count", std::move(processors)});
        result_.count("threads", lanes.size());
        result_.count("calls_sent", sent);
        result_.count("calls_received", received);
    }

    const std::vector<Path>& paths_;
    Control& control_;
    int rank_;
    std::uint32_t batch_;
    const RunParameters& run_;
    Timebase& timebase_;
    const BatchHooks& hooks_;
    std::function<void(const std::exception&)> on_failure_;
    Start start_;
    Result result_;
    std::vector<std::int64_t> round_trips_ns_;
    std::vector<std::int64_t> threads_;
};

// on_failure: called by a thread that fails, while others may still wait.
template <MessageTransport Path, ControlChannel Control>
Result run_threads(const std::vector<Path>& paths, Control& control, int rank, std::uint32_t batch,
                   const RunParameters& run, Timebase& timebase, const BatchHooks& hooks,
                   std::function<void(const std::exception&)> on_failure) {
    return timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        return ThreadedBatch<Clock, Path, Control>(paths, control, rank, batch, run, timebase,
                                                   hooks, std::move(on_failure))
            .play();
    });
}

} // namespace sonde
