#include "transport/mpi/clock_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace sonde::mpi {
namespace {

// The first rank of each clock, in order of rank.
std::vector<int> leaders_of(std::span<const std::int64_t> groups,
                            std::unordered_map<std::int64_t, std::size_t>& index) {
    std::vector<int> leaders;
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
        if (index.emplace(groups[rank], leaders.size()).second) {
            leaders.push_back(static_cast<int>(rank));
        }
    }
    return leaders;
}

// The later ranks that read a rank's clock.
std::vector<int> readers_after(int rank, std::span<const std::int64_t> groups) {
    std::vector<int> found;
    for (std::size_t other = static_cast<std::size_t>(rank) + 1; other < groups.size(); ++other) {
        if (groups[other] == groups[static_cast<std::size_t>(rank)]) {
            found.push_back(static_cast<int>(other));
        }
    }
    return found;
}

} // namespace

ClockPlace place_in_clock_tree(int rank, std::span<const std::int64_t> groups) {
    std::unordered_map<std::int64_t, std::size_t> index;
    const std::vector<int> leaders = leaders_of(groups, index);
    const std::int64_t mine = groups[static_cast<std::size_t>(rank)];
    const std::size_t place = index.at(mine);
    ClockPlace found;
    if (leaders[place] != rank) {
        found.parent = leaders[place];
        found.reads_parents_clock = true;
        return found;
    }
    if (place > 0) {
        found.parent = leaders[place & (place - 1)]; // without its lowest bit
    }
    const std::size_t lowest = place == 0 ? leaders.size() : place & (~place + 1);
    for (std::size_t bit = 1; bit < lowest; bit *= 2) {
        if (place + bit < leaders.size()) {
            found.compared.push_back(leaders[place + bit]);
        }
    }
    std::ranges::reverse(found.compared);
    found.same = readers_after(rank, groups);
    return found;
}

ClockPlace place_under_root(int rank, std::span<const std::int64_t> groups) {
    std::unordered_map<std::int64_t, std::size_t> index;
    const std::vector<int> leaders = leaders_of(groups, index);
    const int leader = leaders[index.at(groups[static_cast<std::size_t>(rank)])];
    ClockPlace found;
    if (leader != rank) {
        found.parent = leader;
        found.reads_parents_clock = true;
        return found;
    }
    if (rank == 0) {
        found.compared.assign(leaders.begin() + 1, leaders.end());
    } else {
        found.parent = 0;
    }
    found.same = readers_after(rank, groups);
    return found;
}

} // namespace sonde::mpi
