// What must hold whatever the input: a simulator that has lost count says so and stops.
#pragma once

#include <stdexcept>

namespace sonde::simulator {

inline void require(bool holds, const char* otherwise) {
    if (!holds) [[unlikely]] {
        throw std::logic_error(otherwise);
    }
}

} // namespace sonde::simulator
