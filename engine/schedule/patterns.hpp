// Who meets whom in the patterns that several collectives share: binomial trees, folding to a power
// of two, recursive doubling and halving, rings.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "schedule/phases.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

[[nodiscard]] constexpr std::int32_t floor_log2(Rank value) {
    return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(value))) - 1;
}
[[nodiscard]] constexpr std::int32_t ceil_log2(Rank value) {
    return value <= 1 ? 0 : floor_log2(value - 1) + 1;
}
// From 0 to ranks - 1; the sum of two ranks may be more than a Rank holds twice over, not less.
[[nodiscard]] constexpr Rank around(std::int64_t value, Rank ranks) {
    const std::int64_t rest = value % ranks;
    return static_cast<Rank>(rest < 0 ? rest + ranks : rest);
}

[[nodiscard]] constexpr Range blocks_of(Rank origin, std::int32_t first, std::int32_t count) {
    return {.origin = origin, .block = first, .blocks = count};
}
[[nodiscard]] constexpr Range origins_of(Rank first, Rank count) {
    return {.origin = first, .origins = count};
}

// A binomial tree over the ranks counted from the root. The edge of distance `mask` that a rank
// has: below it hang the ranks `first`, `first` + 1, ... (modulo the ranks), `count` of them.
struct TreeEdge {
    Rank peer = 0;
    bool to_child = false;
    Rank first = 0;
    Rank count = 0;
};
[[nodiscard]] std::optional<TreeEdge> tree_edge(Rank rank, Rank root, Rank ranks, Rank mask);

// The ranks fold to the largest power of two: of the first 2 * extra, every two become one, whom
// one of them, the keeper, stands for. The numbers of those who stay are 0 to core - 1.
class Fold {
public:
    enum class Keeper : std::uint8_t { odd, even };

    explicit Fold(Rank ranks, Keeper keeper = Keeper::odd)
        : core_(static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(ranks)))),
          extra_(ranks - core_), odd_keeps_(keeper == Keeper::odd) {}

    [[nodiscard]] Rank core() const noexcept { return core_; }
    [[nodiscard]] std::int32_t levels() const noexcept { return floor_log2(core_); }
    [[nodiscard]] bool folds() const noexcept { return extra_ > 0; }
    [[nodiscard]] bool folded(Rank rank) const noexcept { return rank < 2 * extra_; }
    // Whether it leaves the core to its neighbour.
    [[nodiscard]] bool leaves(Rank rank) const noexcept {
        return folded(rank) && (rank % 2 == 1) != odd_keeps_;
    }
    [[nodiscard]] static Rank neighbour(Rank rank) noexcept {
        return rank % 2 == 0 ? rank + 1 : rank - 1;
    }
    // Of a rank that does not leave.
    [[nodiscard]] Rank number(Rank rank) const noexcept {
        return folded(rank) ? rank / 2 : rank - extra_;
    }
    [[nodiscard]] Rank rank(Rank number) const noexcept {
        if (number >= extra_) {
            return number + extra_;
        }
        return odd_keeps_ ? 2 * number + 1 : 2 * number;
    }
    // The first of the ranks that a number stands for; of `core`: all ranks.
    [[nodiscard]] Rank first(Rank number) const noexcept {
        return number < extra_ ? 2 * number : number + extra_;
    }

private:
    Rank core_;
    Rank extra_;
    bool odd_keeps_;
};

// Two halves of a group of 2 * mask numbers: one is the rank's, one is its peer's.
struct Halves {
    Rank peer = 0;
    Rank own_first = 0; // in ranks
    Rank own_count = 0;
    Rank peer_first = 0;
    Rank peer_count = 0;
};
// Of a rank that does not leave.
[[nodiscard]] Halves halves(const Fold& fold, Rank rank, Rank mask);

// The largest divisor of so many whose square is not above it.
[[nodiscard]] Rank divisor_below_root(Rank ranks);

// Halving of a vector of `core` blocks with growing distance: what number has after `bits`
// halvings.
struct Part {
    std::int32_t first = 0;
    std::int32_t count = 0;
};
[[nodiscard]] Part halved_part(Rank number, std::int32_t bits, Rank core);

} // namespace sonde::schedule
