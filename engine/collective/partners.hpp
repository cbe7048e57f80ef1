// Who sends to whom, in operations between two ranks.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace sonde::collective {

constexpr std::string_view head_on_pattern = "head-to-head";
constexpr std::string_view to_one_pattern = "all-to-one";
constexpr std::string_view list_pattern = "list";

struct Partners {
    int to;   // MPI_PROC_NULL: this rank has no part
    int from; // the same
};

// half: rank p and rank p + n/2, so that partners of ranks placed block by block are on different
// hosts. pairs: ranks 2i and 2i + 1. ring: to rank p + distance, from rank p - distance. With an
// odd number of ranks the last one sits out half and pairs. head-to-head has the partners of half,
// who send at the same time. Throws Failure("bad_request").
[[nodiscard]] Partners partners_of(std::string_view pattern, int distance, int rank, int ranks);

// Of a list of pairs: every rank at most once; ranks that are in none sit out. Throws
// Failure("bad_request").
[[nodiscard]] Partners partners_in(std::span<const std::array<int, 2>> pairs, int rank, int ranks);

// Whether everyone receives from the rank that it sends to.
[[nodiscard]] bool is_matching(std::string_view pattern) noexcept;

} // namespace sonde::collective
