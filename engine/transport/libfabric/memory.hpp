// Memory that a provider was told of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/libfabric/handles.hpp"

namespace sonde {

class FabricMemory {
public:
    FabricMemory() = default;
    FabricMemory(FabricHandle<fid_mr> region, std::span<std::byte> memory)
        : region_(std::move(region)), memory_(memory) {}

    explicit operator bool() const noexcept { return region_ != nullptr; }
    [[nodiscard]] bool holds(const std::byte* begin, std::size_t bytes) const noexcept {
        return begin >= memory_.data() && begin + bytes <= memory_.data() + memory_.size();
    }
    [[nodiscard]] void* descriptor() const noexcept {
        return region_ ? fi_mr_desc(region_.get()) : nullptr;
    }
    [[nodiscard]] std::uint64_t key() const noexcept { return fi_mr_key(region_.get()); }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }

private:
    FabricHandle<fid_mr> region_;
    std::span<std::byte> memory_;
};

} // namespace sonde
