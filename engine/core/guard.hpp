// Ends what would otherwise wait for ever: a run past its deadline, or a worker whose standard
// input has closed. A thread that sleeps in poll(); it costs a timed loop nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/failure.hpp"

namespace sonde {

class Guard {
public:
    // watched_fd: hang-up on it means that the launcher is gone (-1: watch no descriptor).
    // signal_fd: readable once the process was told to end (a signalfd; -1: none). From then on
    // the process has two seconds to end by itself.
    explicit Guard(int watched_fd, int signal_fd = -1);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // While the returned watch lives, interrupt() is called from the guard's thread, once, when
    // timeout_ns has passed or the watched descriptor hangs up. It must be thread-safe, e.g.
    // shutdown() of the run's sockets.
    class Watch {
    public:
        Watch(Guard& guard, std::int64_t timeout_ns, std::function<void()> interrupt);
        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

    private:
        Guard& guard_;
    };

    // Timed loops that poll may look at this between calls.
    [[nodiscard]] const std::atomic<bool>& interrupted() const noexcept { return interrupted_; }
    [[nodiscard]] bool hung_up() const noexcept { return hung_up_; }
    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }
    [[nodiscard]] bool signalled() const noexcept { return signalled_; }
    // Why a run was interrupted; what: "while ..." with what was being done.
    [[nodiscard]] Failure failure(const std::string& what) const;

private:
    void loop();
    [[nodiscard]] int check_deadline(); // ms until it, -1: none
    void wake() const;
    void fire();

    int watched_fd_;
    int signal_fd_;
    int wake_fd_;
    std::mutex mutex_;
    std::function<void()> interrupt_;
    std::int64_t deadline_ns_ = 0;
    std::int64_t timeout_ns_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> interrupted_ = false;
    std::atomic<bool> hung_up_ = false;
    std::atomic<bool> timed_out_ = false;
    std::atomic<bool> signalled_ = false;
    std::thread thread_;
};

} // namespace sonde
