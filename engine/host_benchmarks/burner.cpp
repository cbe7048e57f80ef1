#include "host_benchmarks/burner.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "host_benchmarks/quanta.hpp"

namespace sonde {
namespace {

constexpr std::int64_t period_ns = 10'000'000;
constexpr std::uint64_t steps_at_once = 10'000; // some 10 us between two looks at the clocks

std::vector<int> allowed_here() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        throw system_failure("tell where this process may run");
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

void give_way(int nice) {
    // To the kernel a thread is a process of its own here.
    if (nice > 0 && setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice) != 0) {
        throw system_failure("give way with nice " + std::to_string(nice));
    }
}

void sleep_until(std::int64_t instant_ns) noexcept {
    const timespec until{.tv_sec = instant_ns / 1'000'000'000,
                         .tv_nsec = instant_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

} // namespace

Burner::Burner(const BurnPlan& plan) {
    const std::vector<int> cpus = plan.cpus.empty() ? allowed_here() : plan.cpus;
    found_.resize(cpus.size());
    threads_.reserve(cpus.size());
    try {
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            found_[i].cpu = cpus[i];
            std::promise<void> started;
            std::future<void> outcome = started.get_future();
            threads_.emplace_back([this, plan, i, &started] { burn(plan, found_[i], started); });
            outcome.get();
        }
    } catch (...) {
        stop();
        throw;
    }
}

Burner::~Burner() { stop(); }

std::vector<Burnt> Burner::rest() {
    stop();
    return found_;
}

void Burner::stop() {
    stopped_ = true;
    for (std::thread& thread : threads_) {
        thread.join();
    }
    threads_.clear();
}

void Burner::burn(const BurnPlan& plan, Burnt& found, std::promise<void>& started) const {
    try {
        pin_to_cpu(found.cpu);
        give_way(plan.nice);
    } catch (...) {
        started.set_exception(std::current_exception());
        return;
    }
    started.set_value();
    const std::int64_t began_ns = monotonic_ns();
    const std::int64_t before_ns = thread_cpu_ns();
    work(plan.share, plan.longest_ns);
    found.processor_ns = thread_cpu_ns() - before_ns;
    found.lasted_ns = monotonic_ns() - began_ns;
}

void Burner::work(double share, std::int64_t longest_ns) const {
    const auto wanted_ns = static_cast<std::int64_t>(share * static_cast<double>(period_ns));
    volatile std::uint64_t result = 1; // looked at, so that the work is done
    std::int64_t next_ns = monotonic_ns();
    const std::int64_t end_ns = next_ns + longest_ns;
    while (!stopped_ && next_ns < end_ns) {
        next_ns = std::max(next_ns, monotonic_ns() - period_ns) + period_ns;
        const std::int64_t enough_ns = thread_cpu_ns() + wanted_ns;
        while (!stopped_ && thread_cpu_ns() < enough_ns && monotonic_ns() < next_ns) {
            result = churn(result, steps_at_once);
        }
        if (share < 1.0 && !stopped_) {
            sleep_until(next_ns);
        }
    }
}

} // namespace sonde
