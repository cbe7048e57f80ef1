// Barriers: messages of no bytes, each of which says who is known to have come.
#include <algorithm>
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

class Barrier : public PhasedSchedule {
public:
    explicit Barrier(const Parameters& parameters) : PhasedSchedule(parameters, Layout::tokens()) {}
};

// In round k each rank tells the one 2^k ahead, and is told by the one 2^k back.
class Dissemination final : public Barrier {
public:
    using Barrier::Barrier;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = levels,
                .stalls = std::max<std::int64_t>(levels - 1, 0),
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = levels,
                .bytes = 0};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return ceil_log2(ranks()); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const Rank distance = Rank{1} << number;
        const Rank back = around(std::int64_t{rank} - distance, ranks());
        script.wait();
        script.at(number, number);
        script.send(around(std::int64_t{rank} + distance, ranks()), known(rank, distance));
        script.receive(back, known(back, distance));
    }

private:
    [[nodiscard]] Range known(Rank rank, Rank distance) const {
        return origins_of(around(std::int64_t{rank} - distance + 1, ranks()), distance);
    }
};

// Up a binomial tree to rank 0, and down again.
class Tree final : public Barrier {
public:
    using Barrier::Barrier;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = 2 * levels,
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = levels,
                .bytes = 0};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return 2 * std::int64_t{ceil_log2(ranks())};
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const std::int32_t levels = ceil_log2(ranks());
        const bool up = number < levels;
        const Rank mask = Rank{1} << (up ? number : 2 * levels - 1 - number);
        script.wait();
        script.at(number, number);
        if (const auto edge = tree_edge(rank, 0, ranks(), mask)) {
            const Range data = up ? origins_of(edge->first, edge->count) : origins_of(0, ranks());
            edge->to_child == up ? script.receive(edge->peer, data) : script.send(edge->peer, data);
        }
    }
};

constexpr std::array barrier_table{
    Algorithm{.name = "barrier/dissemination",
              .family = Family::barrier,
              .summary = "in round k each rank tells the one 2^k ahead",
              .uses = {},
              .make = make<Dissemination>},
    Algorithm{.name = "barrier/tree",
              .family = Family::barrier,
              .summary = "up a binomial tree to rank 0 and down again",
              .uses = {},
              .make = make<Tree>}};

} // namespace

std::span<const Algorithm> barrier_algorithms() { return barrier_table; }

} // namespace sonde::schedule
