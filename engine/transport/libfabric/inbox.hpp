// Receives that are posted before their messages come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/payload.hpp"
#include "transport/libfabric/outbox.hpp"

namespace sonde {

class FabricInbox {
public:
    // So many receives of a message each in memory of its own; most: how many are ever posted, 0
    // for as many as are asked for. Posts them.
    FabricInbox(const FabricEndpoint& endpoint, const FabricOptions& options, FabricQueue& queue,
                FabricPieces pieces, std::size_t message_bytes, std::size_t receives,
                std::uint64_t most);

    // The next message, which may be read until the next call; the other receives go on.
    template <class Wait>
    std::span<std::byte> next() {
        release();
        Slot& slot = slots_[at_];
        if (!slot.posted) [[unlikely]] {
            post(slot);
        }
        for (const FabricWork& work : slot.works) {
            while (work.busy) {
                Wait::wait(queue_);
            }
        }
        slot.posted = false;
        handed_out_ = true;
        require_whole(slot);
        ++calls_;
        return slot.memory;
    }

    // What was handed out has been read.
    void release() {
        if (handed_out_) {
            handed_out_ = false;
            Slot& slot = slots_[at_];
            at_ = at_ + 1 == slots_.size() ? 0 : at_ + 1;
            if (most_ == 0 || posted_ < most_) {
                post(slot);
            }
        }
    }

    // Receives that are posted and have nothing yet.
    [[nodiscard]] std::uint64_t left() const noexcept;
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }

private:
    struct Slot {
        std::span<std::byte> memory;
        std::vector<FabricWork> works;
        FabricMemory fresh;
        bool posted = false;
    };

    void post(Slot& slot);
    [[nodiscard]] ssize_t ask(std::span<std::byte> piece, void* descriptor, FabricWork& work) const;
    void post_piece(std::span<std::byte> piece, void* descriptor, FabricWork& work);
    static void require_whole(const Slot& slot) {
        std::size_t bytes = 0;
        for (const FabricWork& work : slot.works) {
            bytes += work.bytes;
        }
        if (bytes != slot.memory.size()) [[unlikely]] {
            throw Failure("data_corrupt", std::to_string(bytes) + " bytes came of a message of " +
                                              std::to_string(slot.memory.size()));
        }
    }

    const FabricEndpoint& endpoint_;
    const FabricOptions& options_;
    FabricQueue& queue_;
    FabricPieces pieces_;
    Payload memory_;
    FabricMemory registered_;
    std::vector<Slot> slots_;
    std::size_t at_ = 0;
    bool handed_out_ = false;
    std::uint64_t most_;
    std::uint64_t posted_ = 0;
    std::uint64_t calls_ = 0;
};

} // namespace sonde
