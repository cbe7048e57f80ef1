#include "schedule/alltoall_permutation.hpp"

#include <bit>
#include <cstdint>

namespace sonde::schedule {

namespace {

std::optional<Rank> exclusive_or(Rank ranks, Rank rank, Rank step) noexcept {
    const auto partner =
        static_cast<Rank>(static_cast<std::uint32_t>(rank) ^ static_cast<std::uint32_t>(step));
    if (partner >= ranks) {
        return std::nullopt;
    }
    return partner;
}

} // namespace

Rank permutation_steps(Permutation permutation, Rank ranks) noexcept {
    if (ranks < 2) {
        return 0;
    }
    switch (permutation) {
    case Permutation::exclusive_or:
        return static_cast<Rank>(std::bit_ceil(static_cast<std::uint32_t>(ranks))) - 1;
    case Permutation::edge_colour:
        return ranks % 2 == 0 ? ranks - 1 : ranks;
    case Permutation::shift:
        break;
    }
    return ranks - 1;
}

std::optional<Rank> edge_colour(Rank ranks, Rank rank, Rank round) noexcept {
    const bool odd = ranks % 2 != 0;
    const Rank colours = odd ? ranks : ranks - 1;
    Rank partner = 0;
    if (rank < colours) {
        partner = (round + colours - rank) % colours;
    } else if (round % 2 != 0) { // the last of an even number meets whom the others leave over
        partner = (round + colours) / 2 % colours;
    } else {
        partner = round / 2;
    }
    if (partner != rank) {
        return partner;
    }
    if (odd) {
        return std::nullopt;
    }
    return colours;
}

std::optional<Rank> target_at(Permutation permutation, Rank ranks, Rank rank, Rank step) noexcept {
    switch (permutation) {
    case Permutation::exclusive_or:
        return exclusive_or(ranks, rank, step);
    case Permutation::edge_colour:
        return edge_colour(ranks, rank, step);
    case Permutation::shift:
        break;
    }
    return (rank + step) % ranks;
}

std::optional<Rank> source_at(Permutation permutation, Rank ranks, Rank rank, Rank step) noexcept {
    if (permutation == Permutation::shift) {
        return (rank + ranks - step) % ranks;
    }
    return target_at(permutation, ranks, rank, step); // the others pair the ranks
}

} // namespace sonde::schedule
