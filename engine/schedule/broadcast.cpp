#include "schedule/collectives.hpp"
#include "schedule/make.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

#include <array>

#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

class Broadcast : public PhasedSchedule {
public:
    explicit Broadcast(const Parameters& parameters)
        : PhasedSchedule(parameters,
                         Layout::equal(1, parameters.block_bytes, parameters.segment_bytes)) {}

protected:
    [[nodiscard]] Rank root() const { return parameters().root; }
    [[nodiscard]] Range message() const { return {.origin = root()}; }
    [[nodiscard]] Range segment(std::int64_t number) const {
        return {.origin = root(), .segment = static_cast<std::int32_t>(number), .segments = 1};
    }
    [[nodiscard]] std::int64_t segments() const { return layout().segments(root(), 0); }
    // Counted from the root.
    [[nodiscard]] Rank place(Rank rank) const {
        return around(std::int64_t{rank} - root(), ranks());
    }
};

// The root sends to each, one after the other.
class Linear final : public Broadcast {
public:
    using Broadcast::Broadcast;

    [[nodiscard]] Claims claims() const override {
        return {.node_contention_free = true,
                .rounds = ranks() > 1 ? 1 : 0,
                .stalls = 0,
                .fan_out = ranks() - 1,
                .messages = ranks() - 1,
                .bytes = (ranks() - 1) * parameters().block_bytes};
    }
    [[nodiscard]] std::int64_t phases(Rank rank) const override {
        return rank == root() ? ranks() - 1 : 1;
    }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        if (rank == root()) {
            script.at(0, number);
            script.send(around(root() + number + 1, ranks()), message());
        } else {
            script.at(0, place(rank) - 1);
            script.receive(root(), message());
        }
    }
};

// A binomial tree, the largest subtree first; each edge carries the whole message.
class Binomial final : public Broadcast {
public:
    using Broadcast::Broadcast;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = levels,
                .fan_out = ranks() > 1 ? 1 : 0,
                .messages = levels,
                .bytes = levels * parameters().block_bytes};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return ceil_log2(ranks()); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const Rank mask = Rank{1} << (ceil_log2(ranks()) - 1 - number);
        script.wait();
        script.at(number, number);
        if (const auto edge = tree_edge(rank, root(), ranks(), mask)) {
            edge->to_child ? script.send(edge->peer, message())
                           : script.receive(edge->peer, message());
        }
    }
};

// Each rank passes segments on to the next one.
class Chain final : public Broadcast {
public:
    using Broadcast::Broadcast;

    [[nodiscard]] Claims claims() const override {
        const bool alone = ranks() == 1 || segments() == 0;
        return {.node_contention_free = true,
                .rounds = alone ? 0 : ranks() - 2 + segments(),
                .fan_out = alone ? 0 : 1,
                .messages = alone ? 0 : segments(),
                .bytes = alone ? 0 : parameters().block_bytes};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return segments(); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const Rank place_in_chain = place(rank);
        if (place_in_chain > 0) {
            script.at(place_in_chain - 1 + number, place_in_chain - 1 + number);
            script.receive(around(std::int64_t{rank} - 1, ranks()), segment(number));
            script.wait();
        }
        if (place_in_chain + 1 < ranks()) {
            script.at(place_in_chain + number, place_in_chain + number);
            script.send(around(std::int64_t{rank} + 1, ranks()), segment(number));
        }
    }
};

// A binomial tree in which each packet goes on to all children as soon as it is there: the tree
// broadcast of Eqs. (2.8) and (2.9), whose root sends log2 p copies of every packet.
class PacketTree final : public Broadcast {
public:
    using Broadcast::Broadcast;

    [[nodiscard]] Claims claims() const override {
        const std::int64_t levels = ceil_log2(ranks());
        return {.node_contention_free = true,
                .rounds = levels * segments(),
                .fan_out = ranks() > 1 && segments() > 0 ? 1 : 0,
                .messages = levels * segments(),
                .bytes = levels * parameters().block_bytes};
    }
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return segments(); }
    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const std::int32_t levels = ceil_log2(ranks());
        for (std::int32_t level = 0; level < levels; ++level) {
            const auto edge = tree_edge(rank, root(), ranks(), Rank{1} << (levels - 1 - level));
            if (!edge) {
                continue;
            }
            script.at(number * levels + level, number * levels + level);
            if (edge->to_child) {
                script.send(edge->peer, segment(number));
            } else {
                script.receive(edge->peer, segment(number));
                script.wait();
            }
        }
    }
};

constexpr std::array broadcast_table{
    Algorithm{.name = "broadcast/linear",
              .family = Family::broadcast,
              .summary = "the root sends to each rank in turn",
              .uses = {.root = true},
              .make = make<Linear>},
    Algorithm{.name = "broadcast/binomial",
              .family = Family::broadcast,
              .summary = "a binomial tree, the whole message along each edge",
              .uses = {.root = true},
              .make = make<Binomial>},
    Algorithm{.name = "broadcast/chain",
              .family = Family::broadcast,
              .summary = "each rank passes segments on to the next",
              .uses = {.root = true, .segments = true},
              .make = make<Chain>},
    Algorithm{.name = "broadcast/tree",
              .family = Family::broadcast,
              .summary = "a binomial tree, packet by packet: the model's tree broadcast",
              .uses = {.root = true, .segments = true},
              .make = make<PacketTree>}};

} // namespace

std::span<const Algorithm> broadcast_algorithms() { return broadcast_table; }

} // namespace sonde::schedule
