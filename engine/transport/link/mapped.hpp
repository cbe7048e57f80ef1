// Memory that the kernel shares with us, given back on every way out.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "core/failure.hpp"

namespace sonde {

class MappedMemory {
public:
    MappedMemory() = default;
    // fd -1: memory of nobody else's, for the kernel to be told of.
    MappedMemory(std::size_t bytes, int fd, off_t offset, std::string_view what) : bytes_(bytes) {
        const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void* const found =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, offset);
        if (found == MAP_FAILED) {
            throw system_failure(what);
        }
        at_ = static_cast<std::byte*>(found);
    }
    ~MappedMemory() {
        if (at_ != nullptr) {
            ::munmap(at_, bytes_);
        }
    }
    MappedMemory(MappedMemory&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
    MappedMemory& operator=(MappedMemory&& other) noexcept {
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;

    [[nodiscard]] std::byte* data() const noexcept { return at_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

private:
    std::byte* at_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace sonde
