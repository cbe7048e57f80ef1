// The fields of a `place` request.
#pragma once

#include <optional>
#include <string>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "transport/mpi/places.hpp"

namespace sonde {

// Throws Failure("bad_request").
[[nodiscard]] inline mpi::PinRequest read_pin_request(Fields& fields) {
    const std::string pin = fields.optional_text("pin", 16).value_or("none");
    const bool share = fields.flag("share", false);
    fields.finish();
    if (pin != "none" && pin != "all" && pin != "not_zero") {
        throw Failure("bad_request", "request: pin is " + pin + ", expected none, all or not_zero");
    }
    if (share && pin == "none") {
        throw Failure("bad_request", "request: share goes with a pin");
    }
    return {pin == "none"  ? mpi::Pin::none
            : pin == "all" ? mpi::Pin::all
                           : mpi::Pin::not_zero,
            share};
}

} // namespace sonde
