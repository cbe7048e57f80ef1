#include "tuned/background.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "tuned/calls.hpp"

namespace sonde::tuned {

namespace {

// Between two looks of the library's own thread: the processor and MPI's lock are the program's.
constexpr std::chrono::microseconds pause{20};

} // namespace

void Prepared::run() {
    given.pack();
    running->execution.run(given.base(), given_is_got ? given.base() : got.base());
    end();
}

void Prepared::start() {
    given.pack();
    running->execution.start(given.base(), given_is_got ? given.base() : got.base());
    if (running->execution.is_done()) {
        end();
    }
}

bool Prepared::proceed() {
    if (running->execution.is_done()) {
        return true;
    }
    if (running->execution.proceed()) {
        end();
        return true;
    }
    return false;
}

void Prepared::end() { got.finish(); }

void Prepared::forget() noexcept {
    static_cast<void>(running.release());
    static_cast<void>(new Side(std::move(given)));
    static_cast<void>(new Side(std::move(got)));
}

void Background::add(std::shared_ptr<Prepared> started, Completed completed) {
    {
        const std::scoped_lock lock(jobs_mutex_);
        jobs_.push_back({std::move(started), std::move(completed)});
        count_ = jobs_.size();
    }
    const std::scoped_lock lock(state_mutex_);
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { work(); });
    }
    changed_.notify_one();
}

void Background::drive() noexcept {
    const std::unique_lock lock(jobs_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        std::this_thread::yield(); // another thread looks
        return;
    }
    std::erase_if(jobs_, is_over);
    count_ = jobs_.size();
}

void Background::stop() noexcept {
    {
        const std::scoped_lock lock(state_mutex_);
        stops_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

bool Background::is_over(const Job& job) noexcept {
    int status = MPI_SUCCESS;
    try {
        if (!job.prepared->proceed()) {
            return false;
        }
    } catch (const MpiError& error) {
        status = error.status;
        job.prepared->forget();
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
        job.prepared->forget();
    }
    job.completed(status);
    return true;
}

bool Background::wait_for_work() {
    std::unique_lock lock(state_mutex_);
    changed_.wait(lock, [this] { return stops_ || any(); });
    return !stops_;
}

void Background::work() {
    while (wait_for_work()) {
        std::this_thread::sleep_for(pause);
        drive();
    }
}

} // namespace sonde::tuned
