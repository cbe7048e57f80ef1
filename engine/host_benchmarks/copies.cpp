#include "host_benchmarks/copies.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t page_bytes = 4096;
// A measurement copies at least so much, so that it lasts a hundred readings of a counter.
constexpr std::size_t measured_bytes = 32768;
constexpr std::size_t most_together = 256;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Small blocks have a page each: no line that a neighbour brings helps, and no prefetcher goes over
// the end of a page.
std::size_t room_of(std::size_t bytes) {
    return rounded_up(std::max(bytes, line_bytes), page_bytes);
}

Places places_of(bool is_cold, const CopyPlan& plan) {
    return {is_cold ? plan.arena_bytes : 2 * room_of(plan.bytes), plan.bytes};
}

std::size_t size_of(bool is_cold, const CopyPlan& plan) {
    return is_cold ? plan.arena_bytes : room_of(plan.bytes);
}

} // namespace

Places::Places(std::size_t arena_bytes, std::size_t block_bytes) {
    const std::size_t room = room_of(block_bytes);
    const std::size_t count = arena_bytes / room;
    if (count < 2) {
        throw Failure("bad_request", "request: arena_bytes is " + std::to_string(arena_bytes) +
                                         ", too little for two blocks of " +
                                         std::to_string(block_bytes) + " bytes");
    }
    offsets_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        // Not all at the begin of a page: those would share few sets of a cache.
        const std::size_t slack = room - rounded_up(block_bytes, line_bytes);
        offsets_.push_back(i * room +
                           (slack == 0 ? 0 : i * line_bytes % slack / line_bytes * line_bytes));
    }
    std::mt19937_64 random(count); // the same order every time
    std::ranges::shuffle(offsets_, random);
}

Copies::Copies(const CopyPlan& plan)
    : plan_(plan), together_(std::clamp<std::size_t>(
                       measured_bytes / std::max<std::size_t>(plan.bytes, 1), 1, most_together)),
      sources_(places_of(plan.source_is_cold, plan)),
      destinations_(places_of(plan.destination_is_cold, plan)),
      from_(size_of(plan.source_is_cold, plan)), to_(size_of(plan.destination_is_cold, plan)),
      from_places_(together_), to_places_(together_) {
    for (std::size_t i = 0; i < from_.size(); ++i) {
        from_[i] = static_cast<std::byte>(i * 31U + i / page_bytes);
    }
    std::ranges::fill(to_, std::byte{1});
}

void Copies::choose() {
    for (std::size_t i = 0; i < together_; ++i) {
        from_places_[i] = plan_.source_is_cold ? sources_.next() : 0;
        to_places_[i] = plan_.destination_is_cold ? destinations_.next() : 0;
    }
}

void Copies::copy() noexcept {
    for (std::size_t i = 0; i < together_; ++i) {
        std::memcpy(to_.data() + to_places_[i], from_.data() + from_places_[i], plan_.bytes);
        asm volatile("" : : "r"(to_.data()) : "memory"); // every copy is really made
    }
}

bool Copies::arrived() const noexcept {
    const std::size_t last = together_ - 1;
    return std::memcmp(to_.data() + to_places_[last], from_.data() + from_places_[last],
                       plan_.bytes) == 0;
}

} // namespace sonde
