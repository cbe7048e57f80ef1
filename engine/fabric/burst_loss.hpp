// Gilbert-Elliott: losses that come together, since the way has a good and a bad state.
#pragma once

namespace sonde {

// The state changes before each frame.
struct BurstLoss {
    double enter_ratio = 0.0; // good to bad
    double leave_ratio = 1.0; // bad to good
    double good_loss_ratio = 0.0;
    double bad_loss_ratio = 1.0;
};

// Whether the next frame is lost. happens(ratio) draws.
template <class Happens>
[[nodiscard]] bool lose_in_burst(const BurstLoss& burst, bool& bad_state, Happens&& happens) {
    if (happens(bad_state ? burst.leave_ratio : burst.enter_ratio)) {
        bad_state = !bad_state;
    }
    return happens(bad_state ? burst.bad_loss_ratio : burst.good_loss_ratio);
}

} // namespace sonde
