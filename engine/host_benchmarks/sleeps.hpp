// How long calls that sleep really sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/samples.hpp"

namespace sonde {

// A call that sleeps. asked_ns is a whole number of unit_ns; start_ns, CLOCK_MONOTONIC just before,
// is what a call to an absolute time counts from. sleep() throws Failure where the call fails.
struct SleepCall {
    const char* name;
    std::int64_t unit_ns; // what its argument counts in
    void (*sleep)(std::int64_t asked_ns, std::int64_t start_ns);
};

// nanosleep, usleep, clock_nanosleep (to an absolute time), select, poll. Throws
// Failure("bad_request") for another name.
[[nodiscard]] const SleepCall& sleep_call(const std::string& name);

// Sleeps so many times, or until cancelled. Clock::now() is in the unit of the lengths, which are
// from before a call to after it. sleep(start) sleeps once.
template <class Clock, class Sleep>
[[nodiscard]] Samples sleep_often(std::size_t count, Sleep sleep,
                                  const std::atomic<bool>& cancelled) {
    Samples lengths(count);
    while (!lengths.full() && !cancelled) {
        const std::uint64_t start = Clock::now();
        sleep(start);
        lengths.push(Clock::now() - start);
    }
    return lengths;
}

// While this lives, the calling thread has the timer slack that it was started with: what another
// program on this host would have.
class UsualTimerSlack {
public:
    UsualTimerSlack();
    ~UsualTimerSlack();
    UsualTimerSlack(const UsualTimerSlack&) = delete;
    UsualTimerSlack& operator=(const UsualTimerSlack&) = delete;

    [[nodiscard]] std::int64_t slack_ns() const noexcept { return slack_ns_; }

private:
    int before_ns_;
    int slack_ns_;
};

} // namespace sonde
