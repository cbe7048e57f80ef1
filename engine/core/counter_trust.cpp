#include "core/counter_trust.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/lead.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sonde {
namespace {

#if defined(__x86_64__)
constexpr const char* kernels_name = "tsc";
#else
constexpr const char* kernels_name = "arch_sys_counter";
#endif
constexpr int exchanges_wanted = 400;
constexpr int spins_between_looks = 64;

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (!line.empty() && line.back() == ' ') {
        line.pop_back();
    }
    return line;
}

bool says_constant() {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned advanced_power_leaf = 0x80000007;
    constexpr unsigned invariant_bit = 1U << 8U;
    return __get_cpuid(advanced_power_leaf, &a, &b, &c, &d) != 0 && (d & invariant_bit) != 0;
#else
    return CycleCounter::exists; // the architecture says so of every CPU
#endif
}

bool is_among(const std::string& name, const std::string& text) {
    std::istringstream words(text);
    return std::find(std::istream_iterator<std::string>(words), {}, name) !=
           std::istream_iterator<std::string>();
}

// What both threads look at.
struct Line {
    alignas(64) std::atomic<int> asked{0};
    std::atomic<int> answered{0};
    std::atomic<std::uint64_t> came{0};
};

// Waits until the value is there; false at the end of the time.
bool await_value(const std::atomic<int>& value, int wanted, std::int64_t end_ns) {
    for (int spins = 0; value.load(std::memory_order_acquire) < wanted; ++spins) {
        if (spins % spins_between_looks == spins_between_looks - 1 && monotonic_ns() > end_ns) {
            return false;
        }
    }
    return true;
}

bool runs_on(int processor) {
    try {
        pin_to_cpu(processor);
        return true;
    } catch (const Failure&) {
        return false;
    }
}

} // namespace

CounterWitnesses counter_witnesses(const std::string& folder) {
    return {says_constant(), line_of(folder + "current_clocksource"),
            line_of(folder + "available_clocksource")};
}

CounterVerdict judge_counter(const CounterWitnesses& told) {
    if (!CycleCounter::exists) {
        return {false, "no cycle counter is known for this CPU"};
    }
    if (told.current == kernels_name) {
        return {true, "the kernel keeps time by the counter"};
    }
    if (!told.available.empty() && !is_among(kernels_name, told.available)) {
        return {false, std::string("the kernel distrusts the counter: its clocks are ") +
                           told.available + ", without " + kernels_name};
    }
    if (told.constant) {
        return {true, "the CPU reports an invariant counter"};
    }
    return {false, "the CPU does not report an invariant counter"};
}

std::int64_t CountersApart::least_ticks() const noexcept {
    return std::max({std::int64_t{0}, low_ticks, -high_ticks});
}

std::int64_t CountersApart::most_ticks() const noexcept { return std::max(high_ticks, -low_ticks); }

std::optional<std::pair<int, int>> distant_processors(const std::vector<int>& allowed,
                                                      const ProcessorGroups& packages) {
    if (allowed.size() < 2) {
        return std::nullopt;
    }
    const auto package_of = [&](int processor) {
        const auto found = std::ranges::find_if(packages, [&](const auto& package) {
            return std::ranges::count(package.second, processor) != 0;
        });
        return found == packages.end() ? -1 : found->first;
    };
    const int first = allowed.front();
    const auto other = std::ranges::find_if(
        allowed, [&](int processor) { return package_of(processor) != package_of(first); });
    return std::pair{first, other != allowed.end() ? *other : allowed.back()};
}

std::uint64_t ordered_reading() noexcept {
#if defined(__x86_64__)
    _mm_lfence();
    const std::uint64_t reading = CycleCounter::now();
    _mm_lfence();
    return reading;
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
    return CycleCounter::now();
#else
    return CycleCounter::now();
#endif
}

CountersApart compare_counters(std::pair<int, int> processors, std::int64_t most_ns,
                               const CounterReading& first, const CounterReading& second) {
    CountersApart found{processors.first, processors.second, 0, 0, 0};
    Line line;
    LeadBounds bounds;
    const std::int64_t end_ns = monotonic_ns() + most_ns;
    {
        const std::jthread answers([&] {
            if (!runs_on(processors.second)) {
                return;
            }
            for (int i = 1; i <= exchanges_wanted; ++i) {
                if (!await_value(line.asked, i, end_ns)) {
                    return;
                }
                line.came.store(second(), std::memory_order_relaxed);
                line.answered.store(i, std::memory_order_release);
            }
        });
        const std::jthread asks([&] {
            if (!runs_on(processors.first)) {
                return;
            }
            for (int i = 1; i <= exchanges_wanted; ++i) {
                const auto asked = static_cast<std::int64_t>(first());
                line.asked.store(i, std::memory_order_release);
                if (!await_value(line.answered, i, end_ns)) {
                    return;
                }
                const auto heard = static_cast<std::int64_t>(first());
                const auto came =
                    static_cast<std::int64_t>(line.came.load(std::memory_order_relaxed));
                bounds.add({asked, came, came, heard});
            }
        });
    }
    if (bounds.exchanges() > 0) {
        found.low_ticks = bounds.low_ns(); // of whatever unit the readings have
        found.high_ticks = bounds.high_ns();
        found.exchanges = bounds.exchanges();
    }
    return found;
}

} // namespace sonde
