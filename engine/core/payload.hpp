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
    // `skip_bytes`: the content begins so far behind the begin of a page. Throws
    // Failure("no_memory") when bytes exceed half of the memory that is free now.
    Payload(std::size_t bytes, std::uint64_t seed, std::size_t skip_bytes = 0);

    // Throws Failure("no_memory") when bytes exceed half of the memory that is free now.
    static void require_available(std::size_t bytes);

    [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_.get() + place_, size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // So many copies of the content, each in pages of its own; use() chooses the one that bytes()
    // is from then on. Throws Failure("no_memory").
    void replicate(std::size_t copies);
    void use(std::size_t copy) noexcept { place_ = copy * stride_bytes() + skip_; }
    // From one copy to the next: whole pages.
    [[nodiscard]] std::size_t stride_bytes() const noexcept;

    // What the seed gives from offset on.
    static void write(std::span<std::byte> content, std::uint64_t seed,
                      std::size_t offset = 0) noexcept;

    // Index of the first byte of content that is not what the seed gives at offset, or -1.
    [[nodiscard]] static std::ptrdiff_t first_difference(std::span<const std::byte> content,
                                                         std::uint64_t seed,
                                                         std::size_t offset = 0) noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept;
    };
    [[nodiscard]] static std::unique_ptr<std::byte, Free> pages(std::size_t bytes);

    std::unique_ptr<std::byte, Free> data_;
    std::size_t size_ = 0;
    std::size_t skip_ = 0;
    std::size_t place_ = 0; // of the content, in data_
};

} // namespace sonde
