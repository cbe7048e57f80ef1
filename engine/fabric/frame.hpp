// Frames in a pool: a frame that is flooded or duplicated is held once and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sonde {

using FrameIndex = std::uint32_t;

class FramePool {
public:
    // frame_bytes: room of each frame; most_bytes: what the whole pool may grow to.
    FramePool(std::size_t frame_bytes, std::size_t most_bytes);

    // A frame with one user; nothing where the pool has grown to its limit, or where the machine
    // has no memory left.
    [[nodiscard]] std::optional<FrameIndex> take();
    void share(FrameIndex frame) noexcept { ++headers_[frame].users; }
    void release(FrameIndex frame) noexcept;

    // All the room of a frame, to be filled; set_length() says how much was.
    [[nodiscard]] std::span<std::byte> room(FrameIndex frame) noexcept;
    void set_length(FrameIndex frame, std::size_t length) noexcept;
    [[nodiscard]] std::span<const std::byte> bytes(FrameIndex frame) const noexcept;
    [[nodiscard]] std::uint32_t length(FrameIndex frame) const noexcept {
        return headers_[frame].length;
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return headers_.size() - free_.size(); }
    [[nodiscard]] std::size_t most_frames() const noexcept { return most_frames_; }

private:
    struct Header {
        std::uint32_t length = 0;
        std::uint32_t users = 0;
    };
    static constexpr std::size_t frames_per_piece = 256;

    [[nodiscard]] std::size_t start(FrameIndex frame) const noexcept { // in its piece
        return (frame % frames_per_piece) * frame_bytes_;
    }
    [[nodiscard]] bool grow() noexcept;

    std::size_t frame_bytes_;
    std::size_t most_frames_;
    std::vector<std::vector<std::byte>> pieces_;
    std::vector<Header> headers_;
    std::vector<FrameIndex> free_;
};

} // namespace sonde
