// Operations that go on while the program does something else, driven by a thread of the library's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tuned/group.hpp"
#include "tuned/running.hpp"
#include "tuned/side.hpp"

namespace sonde::tuned {

// An operation with its memory and its plan.
struct Prepared {
    std::shared_ptr<Group> group;
    std::unique_ptr<Running> running;
    Side given;
    Side got;
    bool given_is_got = false; // a broadcast's root

    // To its end, or to where it waits for others first. Both throw MpiError; then messages may be
    // under way, and forget() leaves them their memory.
    void run();
    void start();
    // Whether it is at its end, after a look at what came.
    [[nodiscard]] bool proceed();
    void forget() noexcept;

private:
    void end();
};

class Background {
public:
    using Completed = std::function<void(int status)>;

    Background() = default;
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background() { stop(); }

    // What is started goes on; completed() is called at its end, from whichever thread.
    void add(std::shared_ptr<Prepared> started, Completed completed);
    [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
    // One look at all of them, by a thread of the program's that waits anyway. The library's own
    // thread is for when the program does not: it would have to fight for MPI's lock.
    void drive() noexcept;
    // Whatever is under way is left where it is.
    void stop() noexcept;

private:
    struct Job {
        std::shared_ptr<Prepared> prepared;
        Completed completed;
    };

    void work();
    [[nodiscard]] bool wait_for_work();
    static bool is_over(const Job& job) noexcept;

    std::atomic<std::size_t> count_ = 0;
    std::mutex jobs_mutex_; // held while jobs are looked at
    std::vector<Job> jobs_;
    std::mutex state_mutex_;
    std::condition_variable changed_;
    bool stops_ = false;
    std::thread thread_; // from the first one on
};

} // namespace sonde::tuned
