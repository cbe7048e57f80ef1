#include "host_benchmarks/sleeps.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t microsecond_ns = 1'000;
constexpr std::int64_t millisecond_ns = 1'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;

timespec as_timespec(std::int64_t ns) noexcept {
    return {static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
}

void by_nanosleep(std::int64_t asked_ns, std::int64_t /*start_ns*/) {
    const timespec length = as_timespec(asked_ns);
    if (::nanosleep(&length, nullptr) != 0) {
        throw system_failure("sleep by nanosleep");
    }
}

void by_usleep(std::int64_t asked_ns, std::int64_t /*start_ns*/) {
    if (::usleep(static_cast<useconds_t>(asked_ns / microsecond_ns)) != 0) {
        throw system_failure("sleep by usleep");
    }
}

void by_clock_nanosleep(std::int64_t asked_ns, std::int64_t start_ns) {
    const timespec end = as_timespec(start_ns + asked_ns);
    const int error = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
    if (error != 0) {
        throw system_failure("sleep by clock_nanosleep", error);
    }
}

void by_select(std::int64_t asked_ns, std::int64_t /*start_ns*/) {
    timeval length{static_cast<time_t>(asked_ns / second_ns),
                   static_cast<suseconds_t>(asked_ns % second_ns / microsecond_ns)};
    if (::select(0, nullptr, nullptr, nullptr, &length) != 0) {
        throw system_failure("sleep by select");
    }
}

void by_poll(std::int64_t asked_ns, std::int64_t /*start_ns*/) {
    if (::poll(nullptr, 0, static_cast<int>(asked_ns / millisecond_ns)) != 0) {
        throw system_failure("sleep by poll");
    }
}

constexpr std::array<SleepCall, 5> known_calls{{
    {"nanosleep", 1, by_nanosleep},
    {"usleep", microsecond_ns, by_usleep},
    {"clock_nanosleep", 1, by_clock_nanosleep},
    {"select", microsecond_ns, by_select},
    {"poll", millisecond_ns, by_poll},
}};

int timer_slack_ns() noexcept { return ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

int usual_slack_ns() noexcept {
    ::prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0); // 0: what the thread began with
    return timer_slack_ns();
}

} // namespace

const SleepCall& sleep_call(const std::string& name) {
    for (const SleepCall& call : known_calls) {
        if (name == call.name) {
            return call;
        }
    }
    throw Failure("bad_request",
                  "request: call is " + name +
                      ", expected nanosleep, usleep, clock_nanosleep, select or poll");
}

UsualTimerSlack::UsualTimerSlack() : before_ns_(timer_slack_ns()), slack_ns_(usual_slack_ns()) {}

UsualTimerSlack::~UsualTimerSlack() {
    if (before_ns_ > 0) {
        ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_ns_), 0, 0, 0);
    }
}

} // namespace sonde
