#include "fabric/impairment.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sonde {

namespace {

constexpr double most_jitter_ns = 1e10;

} // namespace

Fate Impairer::judge(const LinePlan& line, std::uint32_t frame_bytes) {
    Fate fate;
    fate.loss = lose(line, frame_bytes);
    if (fate.loss != Loss::none) {
        return fate;
    }
    fate.duplicated = happens(line.duplicate_ratio);
    fate.held_back = happens(line.reorder_ratio);
    fate.extra_delay = fate.held_back ? from_ns(line.reorder_delay_ns) : jitter(line.jitter);
    return fate;
}

Loss Impairer::lose(const LinePlan& line, std::uint32_t frame_bytes) {
    ++frames_;
    if (line.loss_every > 0 && frames_ % line.loss_every == 0) {
        return Loss::every;
    }
    if (happens(line.loss_ratio)) {
        return Loss::random;
    }
    if (line.burst &&
        lose_in_burst(*line.burst, bad_state_, [this](double ratio) { return happens(ratio); })) {
        return Loss::burst;
    }
    if (line.bit_error_ratio > 0.0) {
        const auto bits = static_cast<double>(line_bits(frame_bytes));
        return happens(-std::expm1(bits * std::log1p(-line.bit_error_ratio))) ? Loss::bit_error
                                                                              : Loss::none;
    }
    return Loss::none;
}

double Impairer::uniform() noexcept {
    return static_cast<double>(random_() >> 11U) * 0x1.0p-53; // all 53 bits of a double
}

VirtualTime Impairer::jitter(const Jitter& jitter) {
    const auto mean = static_cast<double>(jitter.mean_ns);
    double ns = 0.0;
    switch (jitter.shape) {
    case JitterShape::none:
        return 0;
    case JitterShape::uniform:
        ns = 2.0 * mean * uniform();
        break;
    case JitterShape::normal: {
        const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        const double angle = 2.0 * std::numbers::pi * uniform();
        ns = mean + static_cast<double>(jitter.deviation_ns) * radius * std::cos(angle);
        break;
    }
    case JitterShape::exponential:
        ns = -mean * std::log1p(-uniform());
        break;
    case JitterShape::pareto: { // least value so that the mean is the one that was asked for
        const double least = mean * (jitter.tail_index - 1.0) / jitter.tail_index;
        ns = least * std::pow(1.0 - uniform(), -1.0 / jitter.tail_index);
        break;
    }
    }
    return static_cast<VirtualTime>(std::clamp(ns, 0.0, most_jitter_ns) * time_per_ns);
}

} // namespace sonde
