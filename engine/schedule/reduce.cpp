// Reduce: the vectors of all ranks, combined at the root.
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/vector_reduction.hpp"

namespace sonde::schedule {

namespace {

// Up a binomial tree. Where the operation does not commute the tree's root is rank 0, so that each
// rank combines what stands left of it with what stands right, and rank 0 passes the result on.
class BinomialReduce final : public VectorReduction {
public:
    explicit BinomialReduce(const Parameters& parameters) : VectorReduction(parameters, 1) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true,
                      .rank_order = !parameters().commutative,
                      .rounds = empty() ? 0 : phases(0),
                      .fan_out = ranks() > 1 && !empty() ? 1 : 0,
                      .messages = ranks() > 1 && !empty() ? 1 : 0};
        claims.bytes = *claims.messages * parameters().block_bytes;
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return ceil_log2(ranks()) + (tree_root() == parameters().root ? 0 : 1);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        if (number == ceil_log2(ranks())) {
            pass_on(rank, script);
        } else if (const auto edge = tree_edge(rank, tree_root(), ranks(), Rank{1} << number)) {
            edge->to_child ? take_in(script, edge->peer, all(), Left::own)
                           : script.send(edge->peer, all());
        }
    }

private:
    [[nodiscard]] Rank tree_root() const {
        return parameters().commutative ? parameters().root : 0;
    }
    void pass_on(Rank rank, Script& script) const {
        if (rank == tree_root()) {
            script.send(parameters().root, all());
        } else if (rank == parameters().root) {
            script.receive(tree_root(), all());
        }
    }
};

// Rabenseifner: reduce-scatter by recursive halving, then a binomial gather. Of every two ranks
// that fold, the even one stays. A root that has left takes the part and the place of rank 0.
class RabenseifnerReduce final : public VectorReduction {
public:
    explicit RabenseifnerReduce(const Parameters& parameters)
        : VectorReduction(parameters, Fold(parameters.ranks).core()),
          fold_(parameters.ranks, Fold::Keeper::even) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true};
        if (full()) {
            claims.rounds = phases(0);
            claims.fan_out = ranks() > 1 ? 1 : 0;
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return 2 * std::int64_t{fold_.levels()} + (fold_.folds() ? 1 : 0) + (excluded() ? 1 : 0);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        const std::int64_t level = number - (fold_.folds() ? 1 : 0);
        if (level < 0) {
            fold_in(fold_, rank, script);
        } else if (level < fold_.levels()) {
            if (!fold_.leaves(rank)) {
                halve(fold_, rank, static_cast<std::int32_t>(level), script);
            }
        } else if (level == fold_.levels() && excluded()) {
            take_place(rank, script);
        } else {
            const std::int64_t first = fold_.levels() + (excluded() ? 1 : 0);
            gather(rank, static_cast<std::int32_t>(fold_.levels() - 1 - (level - first)), script);
        }
    }

private:
    [[nodiscard]] Rank root() const { return parameters().root; }
    [[nodiscard]] bool excluded() const { return fold_.leaves(root()); }
    [[nodiscard]] Rank root_number() const { return excluded() ? 0 : fold_.number(root()); }
    // Who has a number's place in the gather.
    [[nodiscard]] Rank rank_of(Rank number) const {
        return number == 0 && excluded() ? root() : fold_.rank(number);
    }
    void take_place(Rank rank, Script& script) const {
        const Range first = part(halved_part(0, fold_.levels(), fold_.core()));
        if (rank == fold_.rank(0)) {
            script.send(root(), first);
        } else if (rank == root()) {
            script.receive(fold_.rank(0), first);
        }
    }
    // One round: of two that have neighbouring parts, the one in the root's half takes both.
    void gather(Rank rank, std::int32_t bit, Script& script) const {
        const bool in_place_of_first = excluded() && rank == root();
        if ((fold_.leaves(rank) || rank_of(fold_.number(rank)) != rank) && !in_place_of_first) {
            return;
        }
        const Rank number = in_place_of_first ? 0 : fold_.number(rank);
        const Rank differs = number ^ root_number();
        if (differs >> (bit + 1) != 0) {
            return; // it gave its part away
        }
        const Rank other = number ^ (Rank{1} << bit);
        if (differs >> bit == 0) {
            script.receive(rank_of(other), part(halved_part(other, bit + 1, fold_.core())));
        } else {
            script.send(rank_of(other), part(halved_part(number, bit + 1, fold_.core())));
        }
    }

    Fold fold_;
};

constexpr std::array reduce_table{
    Algorithm{.name = "reduce/binomial",
              .family = Family::reduce,
              .summary = "a binomial tree, the whole vector along each edge",
              .uses = {.root = true},
              .make = make<BinomialReduce>},
    Algorithm{.name = "reduce/rabenseifner",
              .family = Family::reduce,
              .summary = "reduce-scatter by recursive halving, then a binomial gather",
              .uses = {.root = true, .commutative = true},
              .make = make<RabenseifnerReduce>}};

} // namespace

std::span<const Algorithm> reduce_algorithms() { return reduce_table; }

} // namespace sonde::schedule
