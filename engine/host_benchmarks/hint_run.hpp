// HINT once, for one number of subintervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sonde {

// Of (1 - x) / (1 + x) over [0, 1]: 2 ln 2 - 1.
constexpr double hint_integral = 0.38629436111989062;

struct HintPoint {
    std::uint64_t subintervals = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t memory_bytes = 0;
    double lower = 0.0; // bounds of the integral
    double upper = 0.0;
};

// number: double, float or int64; so many threads share the subintervals. Throws
// Failure("bad_request").
[[nodiscard]] HintPoint run_hint(std::string_view number, std::size_t subintervals,
                                 unsigned threads);

} // namespace sonde
