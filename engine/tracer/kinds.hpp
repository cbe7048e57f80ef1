// What the number behind a counter's name is: counted up or of the moment, and its unit.
#pragma once

#include <string_view>

namespace sonde {

enum class CounterKind : char {
    counter = 'c', // only ever counted up; a smaller value means that it wrapped or began anew
    gauge = 'g',   // of the moment
    unknown = 'u', // of a driver, which does not say
};

struct CounterMeaning {
    CounterKind kind = CounterKind::counter;
    std::string_view unit; // "count" where nothing else is said
    // Left out while zero, so that it counts from 0 where it appears later.
    bool starts_at_zero = false;
};

[[nodiscard]] CounterMeaning meaning_of(std::string_view name);

} // namespace sonde
