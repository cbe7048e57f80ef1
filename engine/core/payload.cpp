#include "core/payload.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// SplitMix64 (Steele, Lea, Flood 2014) of the word's index: any part can be made by itself.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) noexcept {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

std::byte random_byte(std::uint64_t seed, std::size_t position) noexcept {
    const std::uint64_t word = random_word(seed, position / word_bytes);
    return static_cast<std::byte>(word >> (8 * (position % word_bytes)));
}

std::size_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::size_t kibibytes = 0;
    std::string unit;
    while (file >> name >> kibibytes >> unit) {
        if (name == "MemAvailable:") {
            return kibibytes * 1024;
        }
    }
    return std::numeric_limits<std::size_t>::max();
}

} // namespace

void Payload::Free::operator()(std::byte* memory) const noexcept { std::free(memory); } // NOLINT

Payload::Payload(std::size_t bytes, std::uint64_t seed, std::size_t skip_bytes)
    : size_(bytes), skip_(skip_bytes), place_(skip_bytes) {
    require_available(bytes);
    data_ = pages(stride_bytes());
    std::memset(data_.get(), 0, skip_);
    write({data_.get() + skip_, stride_bytes() - skip_}, seed);
}

void Payload::require_available(std::size_t bytes) {
    const std::size_t available = available_bytes();
    if (bytes > available / 2) {
        throw Failure("no_memory", "a message of " + std::to_string(bytes) +
                                       " bytes needs more than half of the " +
                                       std::to_string(available) +
                                       " bytes of memory that are free");
    }
}

std::size_t Payload::stride_bytes() const noexcept {
    return (std::max<std::size_t>(skip_ + size_, 1) + page_bytes - 1) / page_bytes * page_bytes;
}

std::unique_ptr<std::byte, Payload::Free> Payload::pages(std::size_t bytes) {
    std::unique_ptr<std::byte, Free> memory(
        static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes)));
    if (!memory) {
        throw Failure("no_memory", "cannot get " + std::to_string(bytes) + " bytes of memory");
    }
    return memory;
}

void Payload::replicate(std::size_t copies) {
    const std::size_t each_bytes = stride_bytes();
    require_available(copies * each_bytes);
    auto memory = pages(copies * each_bytes);
    for (std::size_t copy = 0; copy < copies; ++copy) {
        std::memcpy(memory.get() + copy * each_bytes, data_.get() + place_ - skip_, each_bytes);
    }
    data_ = std::move(memory);
    place_ = skip_;
}

void Payload::write(std::span<std::byte> content, std::uint64_t seed, std::size_t offset) noexcept {
    std::size_t i = 0;
    while (i < content.size()) {
        if ((offset + i) % word_bytes == 0 && content.size() - i >= word_bytes) {
            const std::uint64_t word = random_word(seed, (offset + i) / word_bytes);
            std::memcpy(content.data() + i, &word, word_bytes);
            i += word_bytes;
        } else {
            content[i] = random_byte(seed, offset + i);
            ++i;
        }
    }
}

std::ptrdiff_t Payload::first_difference(std::span<const std::byte> content, std::uint64_t seed,
                                         std::size_t offset) noexcept {
    std::size_t i = 0;
    while (i < content.size()) {
        const bool whole_word = (offset + i) % word_bytes == 0 && content.size() - i >= word_bytes;
        if (whole_word) { // eight bytes for one number: checking must keep up with the network
            const std::uint64_t word = random_word(seed, (offset + i) / word_bytes);
            if (std::memcmp(content.data() + i, &word, word_bytes) == 0) {
                i += word_bytes;
                continue;
            }
        }
        if (content[i] != random_byte(seed, offset + i)) {
            return static_cast<std::ptrdiff_t>(i);
        }
        ++i;
    }
    return -1;
}

} // namespace sonde
