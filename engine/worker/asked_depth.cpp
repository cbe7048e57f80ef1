#include "worker/asked_depth.hpp"

namespace sonde {

void AskedDepth::ask(bool wanted) {
    forget();
    asked_ = wanted;
    if (wanted) {
        depth_ = load_depth(missing_);
    }
}

void AskedDepth::forget() {
    asked_ = false;
    missing_ = {};
    depth_.reset();
}

void AskedDepth::watch(int test, int control) {
    if (depth_) {
        depth_->watch(test, SocketRole::test);
        depth_->watch(control, SocketRole::control);
    }
}

void AskedDepth::add_to(nlohmann::json& opened) const {
    if (!asked_) {
        return;
    }
    opened["depth"] = depth_ != nullptr;
    if (!depth_) {
        opened["depth_missing"] = missing_.reason;
        opened["depth_detail"] = missing_.detail;
    }
}

void AskedDepth::add_before(CounterValues& values) {
    if (depth_) {
        depth_->begin();
        depth_->add(values);
    }
}

void AskedDepth::add_now(CounterValues& values) const {
    if (depth_) {
        depth_->add(values);
    }
}

} // namespace sonde
