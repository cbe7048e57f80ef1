#include "host_benchmarks/hint.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "host_benchmarks/hint_run.hpp"

namespace sonde {
namespace {

struct Times {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
};

// A piece of [0, 1] for each thread; the last takes what does not divide.
template <class Rules>
Hint<Rules> piece_of(std::size_t subintervals, unsigned thread, unsigned threads) {
    using Number = typename Rules::Number;
    const Number width = Rules::one / static_cast<Number>(threads);
    const Number from = width * static_cast<Number>(thread);
    const Number to = thread + 1 == threads ? Rules::one : from + width;
    return {subintervals / threads, from, to};
}

template <class Rules>
HintPoint run_once(std::size_t subintervals, unsigned threads) {
    std::vector<Hint<Rules>> pieces;
    for (unsigned i = 0; i < threads; ++i) {
        pieces.push_back(piece_of<Rules>(subintervals, i, threads));
    }
    std::barrier start(static_cast<std::ptrdiff_t>(threads));
    std::vector<Times> times(threads);
    {
        std::vector<std::jthread> running; // waits for all of them at its end
        for (unsigned i = 0; i < threads; ++i) {
            running.emplace_back(
                [&piece = pieces[i], &time = times[i], &start, subintervals, threads] {
                    start.arrive_and_wait();
                    time.begin_ns = MonotonicClock::now();
                    piece.grow(subintervals / threads);
                    time.end_ns = MonotonicClock::now();
                });
        }
    }
    // By the threads' own clocks: whoever waits for them may itself be late.
    HintPoint point{.time_ns = std::ranges::max(times, {}, &Times::end_ns).end_ns -
                               std::ranges::min(times, {}, &Times::begin_ns).begin_ns};
    for (const Hint<Rules>& piece : pieces) {
        point.subintervals += piece.subintervals();
        point.lower += piece.lower();
        point.upper += piece.upper();
    }
    point.memory_bytes = point.subintervals * Hint<Rules>::bytes_each();
    return point;
}

using Run = HintPoint (*)(std::size_t, unsigned);
constexpr std::array<std::pair<std::string_view, Run>, 3> kinds{{
    {"double", run_once<Floating<double>>},
    {"float", run_once<Floating<float>>},
    {"int64", run_once<Whole>},
}};

} // namespace

HintPoint run_hint(std::string_view number, std::size_t subintervals, unsigned threads) {
    for (const auto& [name, run] : kinds) {
        if (name == number) {
            return run(subintervals, threads);
        }
    }
    throw Failure("bad_request", "request: number is " + std::string(number) +
                                     ", expected double, float or int64");
}

} // namespace sonde
