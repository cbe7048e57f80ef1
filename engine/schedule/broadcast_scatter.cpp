// Broadcasts of long messages: the parts are scattered along a binomial tree, then each rank gets
// all parts by an allgather.
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

// Block v is scattered to the v-th rank, counted from the root.
class ScatteredBroadcast : public PhasedSchedule {
public:
    explicit ScatteredBroadcast(const Parameters& parameters)
        : PhasedSchedule(parameters, Layout::divided(parameters.block_bytes, parameters.ranks, 1,
                                                     parameters.segment_bytes)) {}

protected:
    [[nodiscard]] std::int32_t levels() const { return ceil_log2(ranks()); }
    [[nodiscard]] Rank place(Rank rank) const {
        return around(std::int64_t{rank} - parameters().root, ranks());
    }
    [[nodiscard]] Rank at_place(std::int64_t place) const {
        return around(place + parameters().root, ranks());
    }
    [[nodiscard]] Range parts(Rank first, Rank count) const {
        return blocks_of(parameters().root, first, count);
    }
    void scatter(Rank rank, std::int64_t level, Script& script) const {
        const Rank mask = Rank{1} << (levels() - 1 - level);
        if (const auto edge = tree_edge(rank, parameters().root, ranks(), mask)) {
            const Range data = parts(place(edge->first), edge->count);
            edge->to_child ? script.send(edge->peer, data) : script.receive(edge->peer, data);
        }
    }
    // A count that holds only where no part is empty.
    [[nodiscard]] bool full() const {
        return layout().bytes(parameters().root, ranks() - 1) > 0 && ranks() > 1;
    }
};

class ScatterRing final : public ScatteredBroadcast {
public:
    using ScatteredBroadcast::ScatteredBroadcast;

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true};
        if (full()) {
            claims.rounds = levels() + ranks() - 1;
            claims.fan_out = 1;
            claims.messages = levels() + ranks() - 1;
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return levels() + ranks() - 1;
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        if (number < levels()) {
            scatter(rank, number, script);
            return;
        }
        const std::int64_t step = number - levels();
        const Rank own = place(rank);
        script.send(at_place(std::int64_t{own} + 1), parts(around(own - step, ranks()), 1));
        script.receive(at_place(std::int64_t{own} - 1), parts(around(own - 1 - step, ranks()), 1));
    }
};

// With other than a power of two of ranks, every two of the first ones become one meanwhile.
class ScatterDoubling final : public ScatteredBroadcast {
public:
    explicit ScatterDoubling(const Parameters& parameters)
        : ScatteredBroadcast(parameters), fold_(parameters.ranks) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true};
        if (full()) {
            claims.rounds = phases(0);
            claims.fan_out = 1;
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return levels() + fold_.levels() + (fold_.folds() ? 2 : 0);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        if (number < levels()) {
            scatter(rank, number, script);
        } else {
            allgather(place(rank), number - levels(), script);
        }
    }

private:
    void allgather(Rank own, std::int64_t number, Script& script) const {
        const std::int64_t level = number - (fold_.folds() ? 1 : 0);
        if (level < 0 || level == fold_.levels()) {
            fold(own, level < 0, script);
        } else if (!fold_.leaves(own)) {
            const Halves both = halves(fold_, own, Rank{1} << level);
            script.send(at_place(both.peer), parts(both.own_first, both.own_count));
            script.receive(at_place(both.peer), parts(both.peer_first, both.peer_count));
        }
    }
    // Those who leave give their part, and take all parts in the end.
    void fold(Rank own, bool begin, Script& script) const {
        if (!fold_.folded(own)) {
            return;
        }
        const Rank leaver = fold_.leaves(own) ? own : Fold::neighbour(own);
        const Range data = begin ? parts(leaver, 1) : parts(0, ranks());
        const Rank peer = at_place(Fold::neighbour(own));
        (own == leaver) == begin ? script.send(peer, data) : script.receive(peer, data);
    }

    Fold fold_;
};

constexpr std::array divided_broadcast_table{
    Algorithm{.name = "broadcast/scatter-recursive-doubling",
              .family = Family::broadcast,
              .summary = "parts along a binomial tree, then recursive doubling",
              .uses = {.root = true},
              .make = make<ScatterDoubling>},
    Algorithm{.name = "broadcast/scatter-ring",
              .family = Family::broadcast,
              .summary = "parts along a binomial tree, then round a ring",
              .uses = {.root = true},
              .make = make<ScatterRing>}};

} // namespace

std::span<const Algorithm> scattered_broadcast_algorithms() { return divided_broadcast_table; }

} // namespace sonde::schedule
