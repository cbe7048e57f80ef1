// How most algorithms' tables make a schedule: of one class, from its parameters.
#pragma once

#include <memory>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

template <class T>
std::unique_ptr<Schedule> make(const Parameters& parameters) {
    return std::make_unique<T>(parameters);
}

} // namespace sonde::schedule
