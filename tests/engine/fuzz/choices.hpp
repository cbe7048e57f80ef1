// The bytes of a fuzzer as choices; when they are used up, every choice is the first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace sonde {

class Choices {
public:
    explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool used_up() const noexcept { return bytes_.empty(); }
    std::uint32_t byte() noexcept {
        if (bytes_.empty()) {
            return 0;
        }
        const std::uint8_t value = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return value;
    }
    std::uint32_t below(std::uint32_t limit) noexcept { // limit: at most 2^16
        const std::uint32_t value = limit > 256 ? byte() << 8U | byte() : byte();
        return value % limit;
    }
    bool flag() noexcept { return (byte() & 1U) != 0; }
    std::uint64_t word() noexcept {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) {
            value = value << 8U | byte();
        }
        return value;
    }
    // As many of the bytes as the first of them says.
    std::string text() {
        const std::size_t length = byte();
        const auto taken = bytes_.first(length < bytes_.size() ? length : bytes_.size());
        bytes_ = bytes_.subspan(taken.size());
        return {taken.begin(), taken.end()};
    }
    template <class Value, std::size_t count>
    Value of(const std::array<Value, count>& values) {
        return values[below(static_cast<std::uint32_t>(count))];
    }

private:
    std::span<const std::uint8_t> bytes_;
};

// Throws std::logic_error, which is what a fuzzer reports.
inline void require_that(bool holds, const std::string& otherwise) {
    if (!holds) {
        throw std::logic_error(otherwise);
    }
}

} // namespace sonde
