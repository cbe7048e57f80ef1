// Message buffers: page-aligned, touched, filled with seeded random bytes so that nothing on the
// path can compress them (Hpcbench, section 3.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sonde {

class Payload {
public:
    // Throws Failure("no_memory") when bytes exceed half of the memory that is free now.
    Payload(std::size_t bytes, std::uint64_t seed);

    [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_.get(), size_}; }

    // Index of the first byte of content that is not what the seed gives at offset, or -1.
    [[nodiscard]] static std::ptrdiff_t first_difference(std::span<const std::byte> content,
                                                         std::uint64_t seed,
                                                         std::size_t offset = 0) noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept;
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t size_ = 0;
};

} // namespace sonde
