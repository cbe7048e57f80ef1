#include "host_benchmarks/context_switches.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/failure.hpp"

namespace sonde {
namespace {

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw system_failure("make a pipe");
        }
        out = Descriptor(ends[0]);
        in = Descriptor(ends[1]);
    }
    Descriptor out;
    Descriptor in;
};

bool put(const Pipe& pipe) noexcept {
    const char byte = 1;
    ssize_t done = 0;
    do {
        done = ::write(pipe.in.get(), &byte, 1);
    } while (done < 0 && errno == EINTR);
    return done == 1;
}

bool take(const Pipe& pipe) noexcept {
    char byte = 0;
    ssize_t done = 0;
    do {
        done = ::read(pipe.out.get(), &byte, 1);
    } while (done < 0 && errno == EINTR);
    return done == 1;
}

std::uint64_t times_slept() noexcept {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

// The other thread: gives back what it gets, until the pipe to it is closed.
class Other {
public:
    explicit Other(int cpu) : thread_([this, cpu] { give_back(cpu); }) {
        if (!take(back_)) {
            there_.in = Descriptor();
            thread_.join();
            throw Failure("system", problem_);
        }
    }
    ~Other() {
        there_.in = Descriptor();
        thread_.join();
    }
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;

    [[nodiscard]] bool round() const noexcept { return put(there_) && take(back_); }

private:
    void give_back(int cpu) {
        try {
            pin_to_cpu(cpu);
        } catch (const Failure& failure) {
            problem_ = failure.what();
            back_.in = Descriptor();
            return;
        }
        put(back_);
        while (take(there_)) {
            put(back_);
        }
    }

    Pipe there_;
    Pipe back_;
    std::string problem_;
    std::thread thread_; // the last: it uses the others
};

template <class Round>
HandOffs time_rounds(std::size_t count, Round round, const std::atomic<bool>& cancelled) {
    constexpr int warm_up = 100;
    HandOffs found{.round_trips = Samples(count)};
    for (int i = 0; i < warm_up; ++i) {
        round();
    }
    const std::uint64_t before = times_slept();
    std::uint64_t begin = MonotonicClock::now();
    while (!found.round_trips.full() && !cancelled) {
        if (!round()) {
            throw system_failure("hand a byte over");
        }
        const std::uint64_t end = MonotonicClock::now();
        found.round_trips.push(end - begin);
        begin = end;
    }
    found.times_asleep = times_slept() - before;
    return found;
}

} // namespace

HandOffs hand_off(std::size_t count, int cpu, std::optional<int> other_cpu,
                  const std::atomic<bool>& cancelled) {
    const PinnedTo pinned(cpu);
    if (!other_cpu) {
        const Pipe own;
        return time_rounds(
            count, [&] { return put(own) && take(own); }, cancelled);
    }
    const Other other(*other_cpu);
    return time_rounds(
        count, [&] { return other.round(); }, cancelled);
}

} // namespace sonde
