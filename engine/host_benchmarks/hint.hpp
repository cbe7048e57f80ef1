// HINT: how fast this CPU improves an answer as the problem grows, and with it the memory
// (J. Gustafson, Q. Snell: HINT, a new way to measure computer performance, 1995).
//
// The area under (1 - x) / (1 + x) on [0, 1] is bounded from below and above by rectangles, using
// only that the function falls. The interval whose rectangles differ most is split in halves, again
// and again. The quality is 1 / (upper - lower), and the figure is quality per second, QUIPS.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde {

// How the function is computed: in floating point...
template <class Real>
struct Floating {
    using Number = Real;
    static constexpr Number one = 1;
    [[nodiscard]] static Number below(Number x) noexcept { return (one - x) / (one + x); }
    [[nodiscard]] static Number above(Number x) noexcept { return below(x); }
};

// ...or with whole numbers, in units of 2^-30: rounded down for the lower bound and up for the
// upper.
struct Whole {
    using Number = std::int64_t;
    static constexpr Number one = Number{1} << 30U;
    [[nodiscard]] static Number below(Number x) noexcept { return (one - x) * one / (one + x); }
    [[nodiscard]] static Number above(Number x) noexcept {
        return ((one - x) * one + one + x - 1) / (one + x);
    }
};

// One run of the benchmark in one thread.
template <class Rules>
class Hint {
public:
    using Number = typename Rules::Number;

    struct Interval {
        Number error; // upper rectangle less lower one
        Number left;
        Number width;
        Number high; // of the function, at the left end
        Number low;  // at the right end
    };

    // Takes memory for so many subintervals, of [from, to], and touches it.
    Hint(std::size_t most, Number from, Number to) : heap_(most) {
        heap_.clear();
        push(from, to - from, Rules::above(from), Rules::below(to));
    }

    // Splits until there are so many subintervals.
    void grow(std::size_t wanted) {
        while (heap_.size() < wanted) {
            split();
        }
    }

    [[nodiscard]] std::size_t subintervals() const noexcept { return heap_.size(); }
    [[nodiscard]] static constexpr std::size_t bytes_each() noexcept { return sizeof(Interval); }

    // Sums over all subintervals, the smallest first so that little is lost.
    [[nodiscard]] double lower() const {
        return sum([](const Interval& i) { return i.low; });
    }
    [[nodiscard]] double upper() const {
        return sum([](const Interval& i) { return i.high; });
    }

private:
    void push(Number left, Number width, Number high, Number low) {
        heap_.push_back({(high - low) * width, left, width, high, low});
        std::push_heap(heap_.begin(), heap_.end(), smaller);
    }

    void split() {
        std::pop_heap(heap_.begin(), heap_.end(), smaller);
        const Interval worst = heap_.back();
        heap_.pop_back();
        const Number half = worst.width / Number{2};
        const Number middle = worst.left + half;
        push(worst.left, half, worst.high, Rules::below(middle));
        push(middle, worst.width - half, Rules::above(middle), worst.low);
    }

    [[nodiscard]] static bool smaller(const Interval& a, const Interval& b) noexcept {
        return a.error < b.error;
    }

    template <class Height>
    [[nodiscard]] double sum(Height height) const {
        constexpr auto one = static_cast<double>(Rules::one);
        std::vector<double> areas;
        areas.reserve(heap_.size());
        for (const Interval& interval : heap_) {
            areas.push_back(static_cast<double>(height(interval)) / one *
                            (static_cast<double>(interval.width) / one));
        }
        std::ranges::sort(areas);
        double whole = 0.0;
        for (const double area : areas) {
            whole += area;
        }
        return whole;
    }

    std::vector<Interval> heap_;
};

} // namespace sonde
