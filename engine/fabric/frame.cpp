#include "fabric/frame.hpp"

#include <algorithm>
#include <new>

namespace sonde {

FramePool::FramePool(std::size_t frame_bytes, std::size_t most_bytes)
    : frame_bytes_(frame_bytes),
      most_frames_(std::max(most_bytes / frame_bytes, frames_per_piece)) {}

std::optional<FrameIndex> FramePool::take() {
    if (free_.empty()) {
        if (headers_.size() + frames_per_piece > most_frames_ || !grow()) {
            return std::nullopt;
        }
    }
    const FrameIndex frame = free_.back();
    free_.pop_back();
    headers_[frame] = {0, 1};
    return frame;
}

void FramePool::release(FrameIndex frame) noexcept {
    if (--headers_[frame].users == 0) {
        free_.push_back(frame); // never allocates: grow() reserved room for all
    }
}

std::span<std::byte> FramePool::room(FrameIndex frame) noexcept {
    return std::span(pieces_[frame / frames_per_piece]).subspan(start(frame), frame_bytes_);
}

void FramePool::set_length(FrameIndex frame, std::size_t length) noexcept {
    headers_[frame].length = static_cast<std::uint32_t>(std::min(length, frame_bytes_));
}

std::span<const std::byte> FramePool::bytes(FrameIndex frame) const noexcept {
    const std::vector<std::byte>& piece = pieces_[frame / frames_per_piece];
    return std::span(piece).subspan(start(frame), headers_[frame].length);
}

// False, with everything as it was, where there is no memory.
bool FramePool::grow() noexcept {
    const std::size_t before = headers_.size();
    try {
        headers_.reserve(before + frames_per_piece);
        free_.reserve(before + frames_per_piece);
        pieces_.emplace_back(frames_per_piece * frame_bytes_);
    } catch (const std::bad_alloc&) {
        return false;
    }
    headers_.resize(before + frames_per_piece);
    for (std::size_t frame = headers_.size(); frame-- > before;) {
        free_.push_back(static_cast<FrameIndex>(frame));
    }
    return true;
}

} // namespace sonde
