#include "core/guard.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "core/clock.hpp"
#include "core/failure.hpp"

namespace sonde {

Guard::Guard(int watched_fd, int signal_fd)
    : watched_fd_(watched_fd), signal_fd_(signal_fd),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_fd_ < 0) {
        throw system_failure("make an event descriptor");
    }
    // Signals are for the main thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Guard::~Guard() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    wake();
    thread_.join();
    ::close(wake_fd_);
}

void Guard::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

void Guard::fire() { // with the lock held, so that a watch cannot end meanwhile
    interrupted_ = true;
    if (interrupt_) {
        std::exchange(interrupt_, nullptr)();
    }
}

int Guard::check_deadline() {
    const std::scoped_lock lock(mutex_);
    if (stop_ || deadline_ns_ == 0) {
        return -1;
    }
    const std::int64_t left_ns = deadline_ns_ - monotonic_ns();
    if (left_ns <= 0) {
        timed_out_ = true;
        deadline_ns_ = 0;
        fire();
        return -1;
    }
    return static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 60'000));
}

void Guard::loop() {
    while (!stop_) {
        const int wait_ms = check_deadline();
        std::array<pollfd, 3> fds{pollfd{wake_fd_, POLLIN, 0},
                                  pollfd{hung_up_ ? -1 : watched_fd_, POLLRDHUP, 0},
                                  pollfd{signalled_ ? -1 : signal_fd_, POLLIN, 0}};
        ::poll(fds.data(), fds.size(), wait_ms);
        if (fds[0].revents != 0) {
            std::uint64_t ignored = 0;
            [[maybe_unused]] const ssize_t got = ::read(wake_fd_, &ignored, sizeof ignored);
        }
        if ((fds[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
            const std::scoped_lock lock(mutex_);
            hung_up_ = true;
            fire();
        }
        if (fds[2].revents != 0) {
            ::alarm(2); // the last resort; not needed unless something waits where it must not
            const std::scoped_lock lock(mutex_);
            signalled_ = true;
            fire();
        }
    }
}

Failure Guard::failure(const std::string& what) const {
    if (signalled_) {
        return {"timeout", "the worker was told to end " + what};
    }
    if (hung_up_) {
        return {"timeout", "standard input was closed (the launcher is gone) " + what};
    }
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-magic-numbers): seconds with one place
    const std::int64_t tenths_s = timeout_ns_ / 100'000'000;
    return {"timeout", "its limit of " + std::to_string(tenths_s / 10) + "." +
                           std::to_string(tenths_s % 10) + " s passed " + what};
}

Guard::Watch::Watch(Guard& guard, std::int64_t timeout_ns, std::function<void()> interrupt)
    : guard_(guard) {
    {
        const std::scoped_lock lock(guard_.mutex_);
        guard_.interrupt_ = std::move(interrupt);
        guard_.timeout_ns_ = timeout_ns;
        guard_.deadline_ns_ = monotonic_ns() + timeout_ns;
        guard_.timed_out_ = false;
        guard_.interrupted_ = guard_.hung_up_ || guard_.signalled_;
        if (guard_.interrupted_) {
            guard_.fire();
        }
    }
    guard_.wake();
}

Guard::Watch::~Watch() {
    const std::scoped_lock lock(guard_.mutex_);
    guard_.interrupt_ = nullptr;
    guard_.deadline_ns_ = 0;
}

} // namespace sonde
