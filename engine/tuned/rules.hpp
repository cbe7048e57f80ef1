// The rules by which operations get their ways: schema/rules.schema.json as C++ has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.hpp"
#include "tuned/operation.hpp"

namespace sonde::tuned {

constexpr std::size_t most_rules = 100'000;
constexpr std::size_t most_rules_bytes = std::size_t{64} << 20U;

struct Rule {
    Operation operation = Operation::barrier;
    schedule::Rank ranks = 0;
    std::optional<schedule::Rank> ranks_per_host; // of the host with most; nothing: any
    std::int64_t from_bytes = 0;
    std::int64_t to_bytes = std::numeric_limits<std::int64_t>::max(); // inclusive
    std::string algorithm;                                            // as it is written
    const schedule::Algorithm* schedule = nullptr;                    // null: the library's own way
    schedule::Parameters parameters;                                  // as they are written
};

// Of a text in JSON. Rules for operations that there are no schedules of are left out, where they
// pass on. Throws Failure("bad_request") with what is wrong.
[[nodiscard]] std::vector<Rule> read_rules(std::string_view text);

// The rules of a file. Throws Failure.
[[nodiscard]] std::string text_of_file(const std::string& path);

// Of some ranks: the rules that may be theirs, of each operation in their order.
class FittingRules {
public:
    FittingRules() = default;
    FittingRules(const std::vector<Rule>& rules, schedule::Rank ranks,
                 schedule::Rank ranks_per_host);

    [[nodiscard]] bool any() const noexcept { return any_; }
    [[nodiscard]] bool any(Operation operation) const noexcept {
        return !of_[static_cast<std::size_t>(operation)].empty();
    }
    // The first that fits, or null.
    [[nodiscard]] const Rule* find(Operation operation, std::int64_t bytes) const noexcept;
    // The first one's, where that is the same whatever the size.
    [[nodiscard]] const Rule* for_all_sizes(Operation operation) const noexcept;

private:
    std::array<std::vector<const Rule*>, operation_count> of_;
    bool any_ = false; // that does not pass on
};

} // namespace sonde::tuned
