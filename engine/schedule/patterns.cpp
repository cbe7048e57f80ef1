#include "schedule/patterns.hpp"

#include <algorithm>

namespace sonde::schedule {

std::optional<TreeEdge> tree_edge(Rank rank, Rank root, Rank ranks, Rank mask) {
    const Rank relative = around(std::int64_t{rank} - root, ranks);
    const Rank within = relative % (2 * mask);
    if (within == mask) {
        return TreeEdge{.peer = around(std::int64_t{rank} - mask, ranks),
                        .to_child = false,
                        .first = rank,
                        .count = std::min(mask, ranks - relative)};
    }
    if (within == 0 && relative + mask < ranks) {
        const Rank child = around(std::int64_t{rank} + mask, ranks);
        return TreeEdge{.peer = child,
                        .to_child = true,
                        .first = child,
                        .count = std::min(mask, ranks - relative - mask)};
    }
    return std::nullopt;
}

Halves halves(const Fold& fold, Rank rank, Rank mask) {
    const Rank number = fold.number(rank);
    const Rank own = number - number % mask;
    const Rank other = own ^ mask;
    return {.peer = fold.rank(number ^ mask),
            .own_first = fold.first(own),
            .own_count = fold.first(own + mask) - fold.first(own),
            .peer_first = fold.first(other),
            .peer_count = fold.first(other + mask) - fold.first(other)};
}

Part halved_part(Rank number, std::int32_t bits, Rank core) {
    Part part{.first = 0, .count = core};
    for (std::int32_t bit = 0; bit < bits; ++bit) {
        part.count /= 2;
        if ((number >> bit) % 2 == 1) {
            part.first += part.count;
        }
    }
    return part;
}

Rank divisor_below_root(Rank ranks) {
    for (Rank divisor = ranks / 2; divisor > 1; --divisor) {
        if (ranks % divisor == 0 && std::int64_t{divisor} * divisor <= ranks) {
            return divisor;
        }
    }
    return 1;
}

} // namespace sonde::schedule
