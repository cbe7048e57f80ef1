// Sample buffers: memory is taken and touched before a timed phase, never in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sonde {

class Samples {
public:
    // Every page is written here, so that push() never takes a page fault.
    explicit Samples(std::size_t capacity) : values_(capacity, 1) {}

    // The caller keeps to capacity(); there is no check in the timed loop.
    void push(std::uint64_t value) noexcept { values_[size_++] = value; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return values_.size(); }
    [[nodiscard]] bool full() const noexcept { return size_ == values_.size(); }
    [[nodiscard]] std::span<const std::uint64_t> values() const noexcept {
        return {values_.data(), size_};
    }

private:
    std::vector<std::uint64_t> values_;
    std::size_t size_ = 0;
};

} // namespace sonde
