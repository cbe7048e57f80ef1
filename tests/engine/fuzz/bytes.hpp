// What a fuzzer was given, taken from the front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size)
        : left_(std::as_bytes(std::span(data, size))) {}

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
    // 0 where nothing is left.
    std::uint8_t one() noexcept {
        const auto front = take(1);
        return front.empty() ? 0 : std::to_integer<std::uint8_t>(front[0]);
    }
    std::span<const std::byte> take(std::size_t most) noexcept {
        const auto front = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(front.size());
        return front;
    }
    std::span<const std::byte> rest() noexcept { return take(left_.size()); }

private:
    std::span<const std::byte> left_;
};

} // namespace sonde
