// Allreduce: the vectors of all ranks, combined at every rank.
#include <algorithm>
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/vector_reduction.hpp"

namespace sonde::schedule {

namespace {

// What both algorithms over a power of two share: they begin and end with the ranks that leave.
class FoldedAllreduce : public VectorReduction {
public:
    FoldedAllreduce(const Parameters& parameters, std::int32_t blocks)
        : VectorReduction(parameters, blocks), fold_(parameters.ranks) {}

    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return core_phases() + (fold_.folds() ? 2 : 0);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        const std::int64_t step = number - (fold_.folds() ? 1 : 0);
        if (step < 0) {
            fold_in(fold_, rank, script);
        } else if (step == core_phases()) {
            fold_out(rank, script);
        } else if (!fold_.leaves(rank)) {
            core_phase(rank, static_cast<std::int32_t>(step), script);
        }
    }

protected:
    [[nodiscard]] const Fold& fold() const noexcept { return fold_; }
    [[nodiscard]] virtual std::int64_t core_phases() const = 0;
    virtual void core_phase(Rank rank, std::int32_t step, Script& script) const = 0;

private:
    void fold_out(Rank rank, Script& script) const {
        if (fold_.folded(rank)) {
            const Rank peer = Fold::neighbour(rank);
            fold_.leaves(rank) ? script.receive(peer, all()) : script.send(peer, all());
        }
    }

    Fold fold_;
};

// In each round two groups exchange all that they have combined; they are neighbours, so that the
// ranks' order is kept.
class DoublingAllreduce final : public FoldedAllreduce {
public:
    explicit DoublingAllreduce(const Parameters& parameters) : FoldedAllreduce(parameters, 1) {}

    [[nodiscard]] Claims claims() const override {
        const std::int64_t rounds = empty() ? 0 : phases(0);
        Claims claims{.node_contention_free = true,
                      .rank_order = true,
                      .rounds = rounds,
                      .stalls = std::max<std::int64_t>(rounds - 1, 0),
                      .fan_out = rounds > 0 ? 1 : 0};
        // The busiest rank is one of the core that has no part in the first or the last round but
        // sends the result to the one it stands for.
        claims.messages = empty() ? 0 : fold().levels() + (fold().folds() ? 1 : 0);
        claims.bytes = *claims.messages * parameters().block_bytes;
        return claims;
    }

private:
    [[nodiscard]] std::int64_t core_phases() const override { return fold().levels(); }
    void core_phase(Rank rank, std::int32_t step, Script& script) const override {
        const Rank peer = fold().rank(fold().number(rank) ^ (Rank{1} << step));
        script.send(peer, all());
        take_in(script, peer, all(), peer < rank ? Left::received : Left::own);
    }
};

// Reduce-scatter by recursive halving, allgather by recursive doubling the same way back.
class RabenseifnerAllreduce final : public FoldedAllreduce {
public:
    explicit RabenseifnerAllreduce(const Parameters& parameters)
        : FoldedAllreduce(parameters, Fold(parameters.ranks).core()) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true};
        if (full()) {
            claims.rounds = phases(0);
            claims.stalls = std::max<std::int64_t>(phases(0) - 1, 0);
            claims.fan_out = ranks() > 1 ? 1 : 0;
            claims.messages = core_phases() + (fold().folds() ? 1 : 0);
        }
        return claims;
    }

private:
    [[nodiscard]] std::int64_t core_phases() const override {
        return 2 * std::int64_t{fold().levels()};
    }
    void core_phase(Rank rank, std::int32_t step, Script& script) const override {
        if (step < fold().levels()) {
            halve(fold(), rank, step, script);
            return;
        }
        const std::int32_t bit = 2 * fold().levels() - 1 - step;
        const Rank number = fold().number(rank);
        const Rank other = number ^ (Rank{1} << bit);
        script.send(fold().rank(other), part(halved_part(number, bit + 1, fold().core())));
        script.receive(fold().rank(other), part(halved_part(other, bit + 1, fold().core())));
    }
};

// Each block goes round once and is combined at every rank, and goes round again as the result.
class RingAllreduce final : public VectorReduction {
public:
    explicit RingAllreduce(const Parameters& parameters)
        : VectorReduction(parameters, parameters.ranks) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true};
        if (full()) {
            claims.rounds = phases(0);
            claims.stalls = std::max<std::int64_t>(phases(0) - 1, 0);
            claims.fan_out = ranks() > 1 ? 1 : 0;
            claims.messages = phases(0);
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return 2 * (std::int64_t{ranks()} - 1);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const Rank next = around(std::int64_t{rank} + 1, ranks());
        const Rank previous = around(std::int64_t{rank} - 1, ranks());
        // What a rank sends in the second turn is what it combined last in the first.
        const Range given = blocks_of(partial, around(rank - number, ranks()), 1);
        const Range taken = blocks_of(partial, around(rank - 1 - number, ranks()), 1);
        script.wait();
        script.at(number, number);
        script.send(next, given);
        if (number < ranks() - 1) {
            take_in(script, previous, taken, Left::received);
        } else {
            script.receive(previous, taken);
        }
    }
};

constexpr std::array allreduce_table{
    Algorithm{.name = "allreduce/recursive-doubling",
              .family = Family::allreduce,
              .summary = "whole vectors between groups of 2^k ranks",
              .uses = {},
              .make = make<DoublingAllreduce>},
    Algorithm{.name = "allreduce/rabenseifner",
              .family = Family::allreduce,
              .summary = "reduce-scatter by recursive halving, allgather by doubling",
              .uses = {.commutative = true},
              .make = make<RabenseifnerAllreduce>},
    Algorithm{.name = "allreduce/ring",
              .family = Family::allreduce,
              .summary = "each block round the ring twice: combined, then as the result",
              .uses = {.commutative = true},
              .make = make<RingAllreduce>}};

} // namespace

std::span<const Algorithm> allreduce_algorithms() { return allreduce_table; }

} // namespace sonde::schedule
