// Proves what a schedule must do, and what its algorithm claims of it, by playing it with symbols:
// every rank ends with the right data, nothing waits for ever without buffers, both ends name the
// same data, and the claims hold.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.hpp"
#include "schedule/traffic.hpp"

namespace sonde::schedule {

struct Findings {
    std::int64_t problem_count = 0;
    std::vector<std::string> problems; // the first ones, a sentence each
    TrafficCounts counts;
    bool rank_order = false; // reductions: the results were combined in the order of the ranks

    [[nodiscard]] bool good() const noexcept { return problem_count == 0; }
};

// Throws Failure("bad_request") where the schedule is too large to be checked.
[[nodiscard]] Findings examine(const Schedule& schedule, Family family);

} // namespace sonde::schedule
