// latency and pingpong where one end acts and the other only has memory: rank 0 reads, writes or
// adds, and each operation is complete at rank 0 before the next.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/payload.hpp"
#include "core/samples.hpp"
#include "test/result.hpp"
#include "test/round_trip.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "test/synchronise.hpp"

namespace sonde {

template <class T>
concept RemoteTransport = requires(T& t, const T& path, std::span<const std::byte> out,
                                   std::span<std::byte> in, std::uint64_t number) {
    // At the origin: one operation, until it is complete.
    { t.act(out, in) } -> std::same_as<void>;
    // At the target: lets the transport go on, and returns soon.
    { t.serve() } -> std::same_as<void>;
    // Of the origin's operation of that number, from 0: whether it brought what it had to.
    { path.is_right(in, number, number) } -> std::same_as<bool>;
    // At the target: whether its memory holds what so many operations leave there.
    { t.holds(number, number) } -> std::same_as<bool>;
    // Whether an operation carries its message there, or brings one.
    { path.sends_content() } -> std::same_as<bool>;
    { path.calls_sent() } -> std::convertible_to<std::uint64_t>;
    { path.calls_received() } -> std::convertible_to<std::uint64_t>;
};

template <class Clock, RemoteTransport Path, PollableControl Control>
class RemoteBatch {
public:
    RemoteBatch(Path& path, Control& control, const RunParameters& run, Timebase& timebase,
                const BatchHooks& hooks)
        : path_(path), control_(control), run_(run), timebase_(timebase), hooks_(hooks),
          out_(run.message_bytes, run.seed), in_(run.message_bytes, run.seed),
          round_trips_(run.count) {}

    Result origin(std::uint32_t batch) {
        begin();
        const Start start = synchronise_origin<Clock>(control_, batch, run_.fingerprint(),
                                                      timebase_, {run_.settle_ns}, [] {});
        if (run_.check_data) {
            act<true>();
        } else {
            act<false>();
        }
        say_sent(control_, totals());
        require_complete(totals(), hear_received(control_));
        finish(0, start);
        result_.series.push_back({"round_trip_ns", "ns", durations_ns(round_trips_, timebase_)});
        count("messages_sent", "bytes_sent");
        count("messages_received", "bytes_received");
        if (!path_.sends_content()) { // only what asks for it goes there
            result_.count("bytes_sent", 0);
        }
        return std::move(result_);
    }

    // It knows of no operation before it is told that all are through.
    Result target() {
        begin();
        const Start start = synchronise_target<Clock>(control_, run_.fingerprint(), timebase_);
        while (!control_.arrived()) {
            path_.serve();
        }
        const Totals sent = hear_sent(control_);
        corrupt_ = run_.check_data && !path_.holds(sent.messages, run_.seed) ? 1 : 0;
        say_received(control_, sent);
        finish(1, start);
        count("messages_received", "bytes_received");
        return std::move(result_);
    }

private:
    template <bool Check>
    void act() {
        const std::span<const std::byte> out = out_.bytes();
        const std::span<std::byte> in = in_.bytes();
        std::uint64_t begin = Clock::now();
        for (std::uint64_t number = 0; number < run_.count; ++number) {
            path_.act(out, in);
            const std::uint64_t end = Clock::now();
            round_trips_.push(end - begin);
            if constexpr (Check) {
                corrupt_ += path_.is_right(in, number, run_.seed) ? 0U : 1U;
                forget_content(in);
                begin = Clock::now();
            } else {
                begin = end;
            }
        }
    }

    void begin() {
        hooks_.before();
        calls_sent_ = path_.calls_sent();
        timebase_.refresh();
    }

    void finish(int rank, const Start& start) {
        const std::uint64_t end_ticks = Clock::now();
        const int cpu = current_cpu();
        hooks_.after();
        timebase_.refresh();
        count_own(path_, result_);
        note_boundaries(result_, rank, timebase_, start, end_ticks);
        result_.counters["cpu"] = cpu;
        result_.count("calls_sent", path_.calls_sent() - calls_sent_);
        result_.count("calls_received", path_.calls_received());
        if (run_.check_data) {
            result_.count("corrupt", corrupt_);
        }
    }

    [[nodiscard]] Totals totals() const noexcept {
        return {run_.count, run_.count * run_.message_bytes, EndedBy::count};
    }
    void count(const char* messages, const char* bytes) {
        result_.count(messages, totals().messages);
        result_.count(bytes, totals().bytes);
    }

    Path& path_;
    Control& control_;
    const RunParameters& run_;
    Timebase& timebase_;
    const BatchHooks& hooks_;
    Payload out_;
    Payload in_;
    Samples round_trips_;
    Result result_;
    std::uint64_t corrupt_ = 0;
    std::uint64_t calls_sent_ = 0;
};

template <RemoteTransport Path, PollableControl Control>
Result run_remote(Path& path, Control& control, int rank, std::uint32_t batch,
                  const RunParameters& run, Timebase& timebase, const BatchHooks& hooks) {
    return timebase.with_clock([&]<class Clock>(Clock /*clock*/) {
        RemoteBatch<Clock, Path, Control> both(path, control, run, timebase, hooks);
        return rank == 0 ? both.origin(batch) : both.target();
    });
}

} // namespace sonde
