#include "tracer/waiting.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "core/failure.hpp"

namespace sonde {
namespace {

std::int64_t read_clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

SystemWaiting::SystemWaiting()
    : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    sigset_t set;
    sigemptyset(&set);
    for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
        sigaddset(&set, one);
    }
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!timer_ || !signals_) {
        throw system_failure("make a timer");
    }
}

std::int64_t SystemWaiting::now_ns() { return read_clock_ns(CLOCK_BOOTTIME); }

std::int64_t SystemWaiting::unix_offset_ns() {
    return read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_BOOTTIME);
}

Woke SystemWaiting::wait_until(std::int64_t instant_ns) {
    itimerspec due{};
    // An instant of 0 would disarm the timer.
    const std::int64_t instant = instant_ns > 0 ? instant_ns : 1;
    due.it_value.tv_sec = instant / 1'000'000'000;
    due.it_value.tv_nsec = instant % 1'000'000'000;
    if (::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &due, nullptr) != 0) {
        throw system_failure("set a timer");
    }
    while (true) {
        std::array<pollfd, 2> watched{{{signals_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
            throw system_failure("wait for the next sample");
        }
        signalfd_siginfo got{};
        while (::read(signals_.get(), &got, sizeof got) == sizeof got) {
            const int number = static_cast<int>(got.ssi_signo);
            if (number == SIGCHLD) {
                return Woke::by_command;
            }
            if (!pass_) {
                return Woke::by_end;
            }
            pass_(number, got.ssi_code <= 0);
        }
        std::uint64_t expirations = 0;
        if (::read(timer_.get(), &expirations, sizeof expirations) == sizeof expirations) {
            return Woke::by_time;
        }
    }
}

} // namespace sonde
