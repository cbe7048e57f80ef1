// Scatter: the root has a block for each rank. Gather: each rank has one for the root.
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

Layout scatter_layout(const Parameters& parameters) {
    return parameters.sizes.empty()
               ? Layout::equal(parameters.ranks, parameters.block_bytes, parameters.segment_bytes)
               : Layout::by_block(parameters.sizes, parameters.segment_bytes);
}

Layout gather_layout(const Parameters& parameters) {
    return parameters.sizes.empty()
               ? Layout::equal(1, parameters.block_bytes, parameters.segment_bytes)
               : Layout::by_origin(parameters.sizes, parameters.segment_bytes);
}

class Scatter : public PhasedSchedule {
public:
    explicit Scatter(const Parameters& parameters)
        : PhasedSchedule(parameters, scatter_layout(parameters)) {}

protected:
    [[nodiscard]] Rank root() const { return parameters().root; }
};

class Gather : public PhasedSchedule {
public:
    explicit Gather(const Parameters& parameters)
        : PhasedSchedule(parameters, gather_layout(parameters)) {}

protected:
    [[nodiscard]] Rank root() const { return parameters().root; }
};

class LinearScatter final : public Scatter {
public:
    using Scatter::Scatter;

    [[nodiscard]] Claims claims() const override {
        return {.node_contention_free = true,
                .rounds = ranks() > 1 ? 1 : 0,
                .stalls = 0,
                .fan_out = ranks() - 1,
                .messages = ranks() - 1};
    }
    [[nodiscard]] std::int64_t phases(Rank rank) const override {
        return rank == root() ? ranks() - 1 : 1;
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        if (rank == root()) {
            const Rank peer = around(root() + number + 1, ranks());
            script.at(0, number);
            script.send(peer, blocks_of(root(), peer, 1));
        } else {
            script.at(0, around(std::int64_t{rank} - root() - 1, ranks()));
            script.receive(root(), blocks_of(root(), rank, 1));
        }
    }
};

// All send at once: no slot keeps them apart.
class LinearGather final : public Gather {
public:
    using Gather::Gather;

    [[nodiscard]] Claims claims() const override {
        return {.rounds = ranks() > 1 ? 1 : 0,
                .stalls = 0,
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = ranks() > 1 ? 1 : 0};
    }
    [[nodiscard]] std::int64_t phases(Rank rank) const override {
        return rank == root() ? ranks() - 1 : 1;
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        if (rank == root()) {
            const Rank peer = around(root() + number + 1, ranks());
            script.receive(peer, origins_of(peer, 1));
        } else {
            script.send(root(), origins_of(rank, 1));
        }
    }
};

// Each edge of the tree carries the blocks of the ranks below it.
class BinomialScatter final : public Scatter {
public:
    using Scatter::Scatter;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = levels,
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = levels};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return ceil_log2(ranks()); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const Rank mask = Rank{1} << (ceil_log2(ranks()) - 1 - number);
        script.wait();
        script.at(number, number);
        if (const auto edge = tree_edge(rank, root(), ranks(), mask)) {
            const Range data = blocks_of(root(), edge->first, edge->count);
            edge->to_child ? script.send(edge->peer, data) : script.receive(edge->peer, data);
        }
    }
};

class BinomialGather final : public Gather {
public:
    using Gather::Gather;

    [[nodiscard]] Claims claims() const override {
        return {.node_contention_free = true,
                .rounds = ceil_log2(ranks()),
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = ranks() > 1 ? 1 : 0};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return ceil_log2(ranks()); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        if (const auto edge = tree_edge(rank, root(), ranks(), Rank{1} << number)) {
            const Range data = origins_of(edge->first, edge->count);
            edge->to_child ? script.receive(edge->peer, data) : script.send(edge->peer, data);
        }
    }
};

constexpr std::array scatter_table{
    Algorithm{.name = "scatter/linear",
              .family = Family::scatter,
              .summary = "the root sends to each rank in turn",
              .uses = {.root = true, .sizes = true, .own_sizes = true},
              .make = make<LinearScatter>},
    Algorithm{.name = "scatter/binomial",
              .family = Family::scatter,
              .summary = "a binomial tree; a child gets the blocks of all below it",
              .uses = {.root = true, .sizes = true},
              .make = make<BinomialScatter>}};

constexpr std::array gather_table{
    Algorithm{.name = "gather/linear",
              .family = Family::gather,
              .summary = "all ranks send to the root at once",
              .uses = {.root = true, .sizes = true, .own_sizes = true},
              .make = make<LinearGather>},
    Algorithm{.name = "gather/binomial",
              .family = Family::gather,
              .summary = "a binomial tree; a parent gets the blocks of all below it",
              .uses = {.root = true, .sizes = true},
              .make = make<BinomialGather>}};

} // namespace

std::span<const Algorithm> scatter_algorithms() { return scatter_table; }

std::span<const Algorithm> gather_algorithms() { return gather_table; }

} // namespace sonde::schedule
