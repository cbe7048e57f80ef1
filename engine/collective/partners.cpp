#include "collective/partners.hpp"

#include <mpi.h>

#include <string>
#include <vector>

#include "core/failure.hpp"

namespace sonde::collective {

bool is_matching(std::string_view pattern) noexcept { return pattern != "ring"; }

Partners partners_of(std::string_view pattern, int distance, int rank, int ranks) {
    if (pattern == "ring") {
        if (distance < 1 || distance >= ranks) {
            throw Failure("bad_request", "request: distance is " + std::to_string(distance) +
                                             ", expected 1 to " + std::to_string(ranks - 1) +
                                             ", less than the " + std::to_string(ranks) + " ranks");
        }
        return {(rank + distance) % ranks, (rank - distance + ranks) % ranks};
    }
    const int paired = ranks / 2 * 2;
    if (rank >= paired) {
        return {MPI_PROC_NULL, MPI_PROC_NULL};
    }
    if (pattern == "half" || pattern == head_on_pattern) {
        const int partner = (rank + paired / 2) % paired;
        return {partner, partner};
    }
    if (pattern == "pairs") {
        const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
        return {partner, partner};
    }
    throw Failure("bad_request",
                  "request: pattern is " + std::string(pattern) +
                      ", expected half, pairs, ring, head-to-head, all-to-one or list");
}

Partners partners_in(std::span<const std::array<int, 2>> pairs, int rank, int ranks) {
    std::vector<bool> has_partner(static_cast<std::size_t>(ranks), false);
    Partners mine{MPI_PROC_NULL, MPI_PROC_NULL};
    for (const auto& pair : pairs) {
        for (const int member : pair) {
            if (member < 0 || member >= ranks) {
                throw Failure("bad_request", "request: partners name rank " +
                                                 std::to_string(member) +
                                                 ", expected ranks below " + std::to_string(ranks));
            }
            if (has_partner[static_cast<std::size_t>(member)]) {
                throw Failure("bad_request", "request: partners name rank " +
                                                 std::to_string(member) +
                                                 " twice, expected every rank at most once");
            }
            has_partner[static_cast<std::size_t>(member)] = true;
        }
        if (pair[0] == rank || pair[1] == rank) {
            const int other = pair[0] == rank ? pair[1] : pair[0];
            mine = {other, other};
        }
    }
    return mine;
}

} // namespace sonde::collective
