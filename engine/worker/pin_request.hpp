// The fields of a `place` request.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "transport/mpi/places.hpp"

namespace sonde {

// Throws Failure("bad_request").
[[nodiscard]] inline mpi::PinRequest read_pin_request(Fields& fields) {
    using Name = std::pair<std::string_view, mpi::Pin>;
    constexpr std::array<Name, 4> names{{{"none", mpi::Pin::none},
                                         {"all", mpi::Pin::all},
                                         {"not_zero", mpi::Pin::not_zero},
                                         {"listed", mpi::Pin::listed}}};
    constexpr std::size_t most_processors = 1024;
    mpi::PinRequest found;
    const std::string pin = fields.optional_text("pin", 16).value_or("none");
    found.share = fields.flag("share", false);
    for (const nlohmann::json& cpu : fields.list("processors", most_processors)) {
        if (!cpu.is_number_unsigned() || cpu.get<std::uint64_t>() >= CPU_SETSIZE) {
            throw Failure("bad_request", "request: CPUs: expected the number of a "
                                         "CPU, got " +
                                             cpu.dump());
        }
        found.processors.push_back(cpu.get<int>());
    }
    fields.finish();
    const auto* const named = std::ranges::find(names, std::string_view(pin), &Name::first);
    if (named == names.end()) {
        throw Failure("bad_request",
                      "request: pin is " + pin + ", expected none, all, not_zero or listed");
    }
    found.pin = named->second;
    if (found.share && found.pin == mpi::Pin::none) {
        throw Failure("bad_request", "request: share goes with a pin");
    }
    if (found.processors.empty() == (found.pin == mpi::Pin::listed)) {
        throw Failure("bad_request", "request: CPUs go with pin listed");
    }
    return found;
}

} // namespace sonde
