// The fields of a `run` request that choose among the ways of an MPI operation, and the pair of
// ranks of a test between two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/operation_choices.hpp"
#include "core/request.hpp"
#include "test/all_pairs.hpp"

namespace sonde {

// Of test threads: how many threads of a rank make round trips at the same time, and whether they
// share one communicator, each with a tag of its own, or have one each.
struct ThreadChoices {
    std::size_t count = 1;
    bool share_communicator = false;
};

// Takes the fields, which only go with test collective; throws Failure("bad_request").
[[nodiscard]] OperationChoices read_choices(Fields& fields, bool is_collective);

// Ranks 0 and 1 where none are asked for. Throws Failure("bad_request").
[[nodiscard]] std::array<int, 2> read_pair(Fields& fields, bool is_between_two);

// Takes the fields, which only go with test threads; `messages` are those of one thread. Throws
// Failure("bad_request").
[[nodiscard]] ThreadChoices read_threads(Fields& fields, bool is_threads, std::uint64_t messages);

// Who asks whom in test all-pairs, each so often. Throws Failure("bad_request").
[[nodiscard]] std::vector<AskedPair> read_asked(Fields& fields, bool is_all_pairs,
                                                std::uint64_t count);

} // namespace sonde
