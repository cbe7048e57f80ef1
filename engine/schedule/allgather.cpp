// Allgather: each rank's block to all.
#include <algorithm>
#include <array>

#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

class Allgather : public PhasedSchedule {
public:
    explicit Allgather(const Parameters& parameters)
        : PhasedSchedule(parameters,
                         parameters.sizes.empty()
                             ? Layout::equal(1, parameters.block_bytes, parameters.segment_bytes)
                             : Layout::by_origin(parameters.sizes, parameters.segment_bytes)) {}

protected:
    // Where all blocks are equal, a rank that gets them one by one sends as many as it lacks.
    [[nodiscard]] std::optional<std::int64_t> all_but_own_bytes() const {
        if (!parameters().sizes.empty()) {
            return std::nullopt;
        }
        return (ranks() - 1) * parameters().block_bytes;
    }
};

class RingAllgather final : public Allgather {
public:
    using Allgather::Allgather;

    [[nodiscard]] Claims claims() const override {
        return {.node_contention_free = true,
                .rounds = ranks() - 1,
                .stalls = std::max(ranks() - 2, 0),
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = ranks() - 1,
                .bytes = all_but_own_bytes()};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return ranks() - 1; }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        script.wait();
        script.at(number, number);
        script.send(around(std::int64_t{rank} + 1, ranks()),
                    origins_of(around(rank - number, ranks()), 1));
        script.receive(around(std::int64_t{rank} - 1, ranks()),
                       origins_of(around(rank - 1 - number, ranks()), 1));
    }
};

// In round k, a rank sends all it has, but no more than is lacking, 2^k ranks back. The blocks lie
// as they came, beginning with the own one, and are put in order in the end.
class BruckAllgather final : public Allgather {
public:
    using Allgather::Allgather;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = levels,
                .stalls = std::max<std::int64_t>(levels - 1, 0),
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = levels,
                .bytes = all_but_own_bytes()};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return ranks() > 1 ? ceil_log2(ranks()) + 1 : 0;
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        if (number == ceil_log2(ranks())) {
            script.copy(origins_of(0, ranks()));
            return;
        }
        const Rank distance = Rank{1} << number;
        const Rank count = std::min(distance, ranks() - distance);
        const Rank ahead = around(std::int64_t{rank} + distance, ranks());
        script.wait();
        script.at(number, number);
        script.send(around(std::int64_t{rank} - distance, ranks()), origins_of(rank, count));
        script.receive(ahead, origins_of(ahead, count));
    }
};

// With other than a power of two of ranks, every two of the first ones become one meanwhile.
class DoublingAllgather final : public Allgather {
public:
    explicit DoublingAllgather(const Parameters& parameters)
        : Allgather(parameters), fold_(parameters.ranks) {}

    [[nodiscard]] Claims claims() const override {
        Claims claims{.node_contention_free = true,
                      .rounds = phases(0),
                      .stalls = std::max<std::int64_t>(phases(0) - 1, 0),
                      .fan_out = ranks() > 1 ? 1 : 0};
        if (!fold_.folds()) {
            claims.messages = phases(0);
            claims.bytes = all_but_own_bytes();
        }
        return claims;
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return fold_.levels() + (fold_.folds() ? 2 : 0);
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const std::int64_t level = number - (fold_.folds() ? 1 : 0);
        script.wait();
        script.at(number, number);
        if (level < 0 || level == fold_.levels()) {
            fold(rank, level < 0, script);
        } else if (!fold_.leaves(rank)) {
            const Halves both = halves(fold_, rank, Rank{1} << level);
            script.send(both.peer, origins_of(both.own_first, both.own_count));
            script.receive(both.peer, origins_of(both.peer_first, both.peer_count));
        }
    }

private:
    void fold(Rank rank, bool begin, Script& script) const {
        if (!fold_.folded(rank)) {
            return;
        }
        const Rank peer = Fold::neighbour(rank);
        const Rank leaver = fold_.leaves(rank) ? rank : peer;
        const Range data = begin ? origins_of(leaver, 1) : origins_of(0, ranks());
        (rank == leaver) == begin ? script.send(peer, data) : script.receive(peer, data);
    }

    Fold fold_;
};

constexpr std::array allgather_table{
    Algorithm{.name = "allgather/recursive-doubling",
              .family = Family::allgather,
              .summary = "in round k all that two groups of 2^k ranks have",
              .uses = {.sizes = true},
              .make = make<DoublingAllgather>},
    Algorithm{.name = "allgather/bruck",
              .family = Family::allgather,
              .summary = "dissemination: in round k all that a rank has, 2^k ranks back",
              .uses = {.sizes = true},
              .make = make<BruckAllgather>},
    Algorithm{.name = "allgather/ring",
              .family = Family::allgather,
              .summary = "one block at a time to the next rank",
              .uses = {.sizes = true},
              .make = make<RingAllgather>}};

} // namespace

std::span<const Algorithm> allgather_algorithms() { return allgather_table; }

} // namespace sonde::schedule
