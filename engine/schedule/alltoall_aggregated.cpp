// The locality-aware exchange, which MPI Advance has, too: small blocks of many ranks of a node
// cross the network together. Rank l of a node of g gets, from the ranks of its node, all blocks
// for the ranks l of all nodes, and then exchanges with these alone: (g - 1) + (p/g - 1) messages
// instead of p - 1, for which nearly each block is sent twice.
#include <algorithm>
#include <vector>

#include "schedule/alltoall.hpp"
#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

class AggregatedExchange final : public PhasedSchedule {
public:
    explicit AggregatedExchange(const Parameters& parameters)
        : PhasedSchedule(parameters, exchange_layout(parameters)),
          node_(parameters.hierarchy.empty() ? divisor_below_root(parameters.ranks)
                                             : parameters.hierarchy.front()),
          nodes_(parameters.ranks / node_) {}

    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override { return 2; }

    void phase(Rank rank, std::int64_t number, Script& script) const override {
        if (number == 0) {
            for (Rank step = 1; step < node_; ++step) {
                within_node(rank, step, script);
            }
            return;
        }
        script.wait();
        for (Rank step = 1; step < nodes_; ++step) {
            between_nodes(rank, step, script);
        }
    }

    [[nodiscard]] Claims claims() const override {
        Claims claims;
        claims.node_contention_free = true;
        if (!parameters().sizes.empty()) {
            return claims;
        }
        const bool sends = parameters().block_bytes > 0;
        const std::int64_t rounds = (node_ > 1 ? 1 : 0) + (nodes_ > 1 ? 1 : 0);
        claims.rounds = sends ? rounds : 0;
        claims.stalls = sends ? std::max<std::int64_t>(rounds - 1, 0) : 0;
        claims.fan_out = sends ? std::max(node_ - 1, nodes_ - 1) : 0;
        claims.messages = sends ? node_ - 1 + nodes_ - 1 : 0;
        claims.bytes = (std::int64_t{node_ - 1} * nodes_ + std::int64_t{nodes_ - 1} * node_) *
                       parameters().block_bytes;
        return claims;
    }

private:
    // Rank `local` of a node, counted on around.
    [[nodiscard]] Rank at(Rank node, Rank local) const {
        return around(node, nodes_) * node_ + around(local, node_);
    }

    // What `origin` has for the ranks `local` of all nodes.
    [[nodiscard]] std::vector<Range> for_partners(Rank origin, Rank local) const {
        std::vector<Range> items;
        for (Rank node = 0; node < nodes_; ++node) {
            items.push_back({.origin = origin, .block = at(node, local)});
        }
        return items;
    }

    void within_node(Rank rank, Rank step, Script& script) const {
        const Rank node = rank / node_;
        const Rank to = at(node, rank % node_ + step);
        const Rank from = at(node, rank % node_ - step);
        const auto leaving = for_partners(rank, to % node_);
        script.at(0, step - 1);
        script.copy(leaving); // they are not contiguous: packed into one message
        script.receive(from, for_partners(from, rank % node_));
        script.send(to, leaving);
    }

    void between_nodes(Rank rank, Rank step, Script& script) const {
        const Rank node = rank / node_;
        const Rank to = at(node + step, rank % node_);
        const Rank from = at(node - step, rank % node_);
        const auto all_of = [&](Rank origins, Rank block) {
            return Range{.origin = origins / node_ * node_, .origins = node_, .block = block};
        };
        script.at(node_ > 1 ? 1 : 0, node_ - 1 + step - 1);
        script.copy(all_of(rank, to));
        script.receive(from, all_of(from, rank));
        script.send(to, all_of(rank, to));
    }

    Rank node_;
    Rank nodes_;
};

} // namespace

std::unique_ptr<Schedule> make_aggregated(const Parameters& parameters) {
    return std::make_unique<AggregatedExchange>(parameters);
}

} // namespace sonde::schedule
