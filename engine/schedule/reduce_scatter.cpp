// Reduce-scatter: block d of all ranks' vectors, combined at rank d.
#include <algorithm>
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

class ReduceScatter : public PhasedSchedule {
public:
    explicit ReduceScatter(const Parameters& parameters)
        : PhasedSchedule(parameters,
                         parameters.sizes.empty()
                             ? Layout::equal(parameters.ranks, parameters.block_bytes,
                                             parameters.segment_bytes)
                             : Layout::by_block(parameters.sizes, parameters.segment_bytes)) {}

protected:
    [[nodiscard]] Range all() const { return blocks_of(partial, 0, ranks()); }
    // Counts hold where no block is empty.
    [[nodiscard]] bool full() const {
        const auto& sizes = parameters().sizes;
        return sizes.empty() ? parameters().block_bytes > 0
                             : std::ranges::all_of(sizes, [](auto size) { return size > 0; });
    }
};

// Both algorithms over a power of two begin with the ranks that leave, who get their block last.
class FoldedReduceScatter : public ReduceScatter {
public:
    explicit FoldedReduceScatter(const Parameters& parameters)
        : ReduceScatter(parameters), fold_(parameters.ranks) {}

    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return fold_.levels() + (fold_.folds() ? 2 : 0);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        const std::int64_t step = number - (fold_.folds() ? 1 : 0);
        if (step < 0) {
            fold_in(rank, script);
        } else if (step == fold_.levels()) {
            fold_out(rank, script);
        } else if (!fold_.leaves(rank)) {
            core_phase(rank, static_cast<std::int32_t>(step), script);
        }
    }

protected:
    [[nodiscard]] const Fold& fold() const noexcept { return fold_; }
    virtual void core_phase(Rank rank, std::int32_t step, Script& script) const = 0;

    // A rank of the core of every pair that folds sends one message more than others.
    [[nodiscard]] Claims counted(Claims claims) const {
        if (full()) {
            claims.rounds = phases(0);
            claims.stalls = std::max<std::int64_t>(phases(0) - 1, 0);
            claims.fan_out = ranks() > 1 ? 1 : 0;
            claims.messages = fold_.levels() + (fold_.folds() ? 1 : 0);
        }
        return claims;
    }

private:
    void fold_in(Rank rank, Script& script) const {
        if (!fold_.folded(rank)) {
            return;
        }
        const Rank peer = Fold::neighbour(rank);
        if (fold_.leaves(rank)) {
            script.send(peer, all());
        } else {
            script.receive_aside(peer, all());
            script.combine(peer, all(), Left::received); // the one who leaves is the even one
        }
    }
    void fold_out(Rank rank, Script& script) const {
        if (fold_.folded(rank)) {
            const Rank peer = Fold::neighbour(rank);
            fold_.leaves(rank) ? script.receive(peer, blocks_of(partial, rank, 1))
                               : script.send(peer, blocks_of(partial, peer, 1));
        }
    }

    Fold fold_;
};

// Opposite halves of the ranks exchange halves of the vector, then each half does so.
class RecursiveHalving final : public FoldedReduceScatter {
public:
    using FoldedReduceScatter::FoldedReduceScatter;

    [[nodiscard]] Claims claims() const override {
        Claims claims = counted({.node_contention_free = true});
        if (full() && !fold().folds() && parameters().sizes.empty()) {
            claims.bytes = (ranks() - 1) * parameters().block_bytes;
        }
        return claims;
    }

private:
    void core_phase(Rank rank, std::int32_t step, Script& script) const override {
        const Halves both = halves(fold(), rank, Rank{1} << (fold().levels() - 1 - step));
        const Range kept = blocks_of(partial, both.own_first, both.own_count);
        script.send(both.peer, blocks_of(partial, both.peer_first, both.peer_count));
        script.receive_aside(both.peer, kept);
        script.combine(both.peer, kept, Left::own);
    }
};

// Groups of neighbours exchange what they have combined, but for the blocks of the sender's own
// group: the order of the ranks is kept, at the cost of more bytes.
class DoublingReduceScatter final : public FoldedReduceScatter {
public:
    using FoldedReduceScatter::FoldedReduceScatter;

    [[nodiscard]] Claims claims() const override {
        Claims claims = counted({.node_contention_free = true, .rank_order = true});
        if (full() && !fold().folds() && parameters().sizes.empty()) {
            // n lg p - n (p - 1) / p, with n = p blocks
            claims.bytes = (std::int64_t{ranks()} * fold().levels() - (ranks() - 1)) *
                           parameters().block_bytes;
        }
        return claims;
    }

private:
    void core_phase(Rank rank, std::int32_t step, Script& script) const override {
        const Halves both = halves(fold(), rank, Rank{1} << step);
        const Range kept = but_for(both.peer_first, both.peer_count);
        script.send(both.peer, but_for(both.own_first, both.own_count));
        script.receive_aside(both.peer, kept);
        script.combine(both.peer, kept, both.peer < rank ? Left::received : Left::own);
    }
    // All other blocks, which lie together as blocks count on modulo the ranks.
    [[nodiscard]] Range but_for(Rank first, Rank count) const {
        return blocks_of(partial, around(std::int64_t{first} + count, ranks()), ranks() - count);
    }
};

// Each rank sends every other its contribution to that one's block. Contributions come from the
// ranks before the own one, backwards, and then from the last one on: where the operation does not
// commute, those are kept aside until all are there.
class Pairwise final : public ReduceScatter {
public:
    using ReduceScatter::ReduceScatter;

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true, .rank_order = !parameters().commutative};
        if (full()) {
            claims.rounds = ranks() - 1;
            claims.stalls = std::max(ranks() - 2, 0);
            claims.fan_out = ranks() > 1 ? 1 : 0;
            claims.messages = ranks() - 1;
            if (parameters().sizes.empty()) {
                claims.bytes = (ranks() - 1) * parameters().block_bytes;
            }
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return ranks() - 1 + (parameters().commutative ? 0 : 1);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        if (number == ranks() - 1) {
            combine_later_ranks(rank, script);
            return;
        }
        const Rank to = around(rank + 1 + number, ranks());
        const Rank from = around(rank - 1 - number, ranks());
        script.at(number, number);
        script.send(to, blocks_of(rank, to, 1));
        script.receive_aside(from, blocks_of(from, rank, 1));
        if (parameters().commutative || from < rank) {
            script.combine(from, blocks_of(partial, rank, 1), Left::received);
        }
    }

private:
    void combine_later_ranks(Rank rank, Script& script) const {
        for (Rank from = rank + 1; from < ranks(); ++from) {
            script.combine(from, blocks_of(partial, rank, 1), Left::own);
        }
    }
};

constexpr std::array reduce_scatter_table{
    Algorithm{.name = "reduce-scatter/recursive-halving",
              .family = Family::reduce_scatter,
              .summary = "opposite halves exchange halves of the vector",
              .uses = {.sizes = true, .commutative = true},
              .make = make<RecursiveHalving>},
    Algorithm{.name = "reduce-scatter/recursive-doubling",
              .family = Family::reduce_scatter,
              .summary = "neighbouring groups exchange all but their own blocks, in order",
              .uses = {.sizes = true},
              .make = make<DoublingReduceScatter>},
    Algorithm{.name = "reduce-scatter/pairwise",
              .family = Family::reduce_scatter,
              .summary = "each rank sends every other its contribution directly",
              .uses = {.sizes = true},
              .make = make<Pairwise>}};

} // namespace

std::span<const Algorithm> reduce_scatter_algorithms() { return reduce_scatter_table; }

} // namespace sonde::schedule
