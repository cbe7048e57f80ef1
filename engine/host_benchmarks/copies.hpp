// What copying memory costs, with its two ends in the caches or out of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/samples.hpp"

namespace sonde {

struct CopyPlan {
    std::size_t bytes = 0;
    bool source_is_cold = false;
    bool destination_is_cold = false;
    // Cold ends go around in that much memory; it must be far larger than the caches.
    std::size_t arena_bytes = 0;
};

// Places in an arena, each for one block, in an order that no prefetcher follows. Between two uses
// of a place lie all others.
class Places {
public:
    // Throws Failure("bad_request") where there is no room for two places.
    Places(std::size_t arena_bytes, std::size_t block_bytes);

    [[nodiscard]] std::size_t count() const noexcept { return offsets_.size(); }
    [[nodiscard]] std::size_t next() noexcept {
        const std::size_t offset = offsets_[index_];
        index_ = index_ + 1 == offsets_.size() ? 0 : index_ + 1;
        return offset;
    }

private:
    std::vector<std::size_t> offsets_;
    std::size_t index_ = 0;
};

// Copies memory as a plan says. Made before the timed part: takes the memory and touches it.
class Copies {
public:
    explicit Copies(const CopyPlan& plan);

    // How many copies one measurement has: so many that reading the clock does not matter.
    [[nodiscard]] std::size_t together() const noexcept { return together_; }
    // One measurement's copies. Chosen before: no search for a place is in the time.
    void choose();
    void copy() noexcept;
    // Whether the last copies arrived whole.
    [[nodiscard]] bool arrived() const noexcept;

private:
    CopyPlan plan_;
    std::size_t together_;
    Places sources_;
    Places destinations_;
    std::vector<std::byte> from_;
    std::vector<std::byte> to_;
    std::vector<std::size_t> from_places_;
    std::vector<std::size_t> to_places_;
};

// Lengths of so many measurements, or until cancelled.
template <class Clock>
[[nodiscard]] Samples time_copies(std::size_t count, Copies& copies,
                                  const std::atomic<bool>& cancelled) {
    Samples lengths(count);
    copies.choose();
    copies.copy();
    while (!lengths.full() && !cancelled) {
        copies.choose();
        const std::uint64_t begin = Clock::now();
        copies.copy();
        lengths.push(Clock::now() - begin);
    }
    return lengths;
}

} // namespace sonde
