// An algorithm as a person writes it, behind `--algorithm` and in rules: `pairwise`,
// `group-shuffle:4`, `modified-shuffle:segment=1460:window=8:hierarchy=4x2:remap`.
// src/netsonde/schedules/algorithms.py reads the same words, and a test compares both.
#pragma once

#include <string_view>

#include "schedule/read.hpp"

namespace sonde::schedule {

// Of a family; the name without it. Throws Failure("bad_request").
[[nodiscard]] Asked read_words(std::string_view text, Family family);

} // namespace sonde::schedule
