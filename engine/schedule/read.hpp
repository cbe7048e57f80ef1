// An algorithm and its parameters as they come in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "core/request.hpp"
#include "schedule/choose.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

// A packet's payload where blocks are given in packets: what the model's reference platforms carry.
constexpr std::int64_t default_packet_bytes = 1492;

struct Asked {
    std::string algorithm; // a name, or a family's: then `choice` says which
    Parameters parameters;
    Choice choice;
};

// Takes the fields algorithm, root, block_bytes or block_packets, segment_bytes, sizes,
// element_bytes, commutative, fan_out, permutation, hierarchy, remap, those of read_window(),
// user_operation, switch_points and force, but not the number of ranks. Throws
// Failure("bad_request").
[[nodiscard]] Asked read_asked(Fields& fields);

// The algorithm that is named or chosen. Throws Failure("bad_request") where there is none.
[[nodiscard]] const Algorithm& find_algorithm(const Asked& asked);

[[nodiscard]] std::string_view permutation_name(Permutation permutation);

} // namespace sonde::schedule
