// What reductions of a whole vector share: it lies in blocks, and ranks exchange and combine them.
#pragma once

#include "schedule/patterns.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

class VectorReduction : public PhasedSchedule {
public:
    VectorReduction(const Parameters& parameters, std::int32_t blocks)
        : PhasedSchedule(parameters,
                         Layout::divided(parameters.block_bytes, blocks, parameters.element_bytes,
                                         parameters.segment_bytes)) {}

protected:
    [[nodiscard]] Range all() const { return blocks_of(partial, 0, layout().blocks()); }
    [[nodiscard]] static Range part(const Part& part) {
        return blocks_of(partial, part.first, part.count);
    }
    [[nodiscard]] bool empty() const { return parameters().block_bytes == 0; }
    // Whether every block has something; counts of messages hold only then.
    [[nodiscard]] bool full() const { return layout().bytes(0, layout().blocks() - 1) > 0; }

    static void take_in(Script& script, Rank peer, const Range& data, Left left) {
        script.receive_aside(peer, data);
        script.combine(peer, data, left);
    }
    // The first step of a reduction over a fold: those who leave hand over all that they have.
    void fold_in(const Fold& fold, Rank rank, Script& script) const {
        if (!fold.folded(rank)) {
            return;
        }
        const Rank peer = Fold::neighbour(rank);
        if (fold.leaves(rank)) {
            script.send(peer, all());
        } else {
            take_in(script, peer, all(), peer < rank ? Left::received : Left::own);
        }
    }
    // One halving, with a distance that grows: each keeps one half of the part that both have.
    static void halve(const Fold& fold, Rank rank, std::int32_t bit, Script& script) {
        const Rank number = fold.number(rank);
        const Rank other = number ^ (Rank{1} << bit);
        const Rank peer = fold.rank(other);
        const Part kept = halved_part(number, bit + 1, fold.core());
        script.send(peer, part(halved_part(other, bit + 1, fold.core())));
        take_in(script, peer, part(kept), Left::own);
    }
};

} // namespace sonde::schedule
