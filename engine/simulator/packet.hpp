// Packets, and the memory that they live in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/failure.hpp"
#include "fabric/virtual_time.hpp"
#include "simulator/require.hpp"

namespace sonde::simulator {

constexpr std::uint32_t none = UINT32_MAX; // no packet, line, host or flow

enum class PacketKind : std::uint8_t { data, pack, nack };

struct alignas(64) Packet {     // a cache line
    VirtualTime ready_at = 0;   // when the switch where it is may begin to send it
    std::uint32_t next = none;  // in whatever queue it waits
    std::uint32_t flow = none;  // whose data it carries or answers
    std::uint32_t sequence = 0; // data: its number; TCP's answers: the first packet held beyond
    std::uint32_t answer = 0;   // the number that the other end expects next
    std::uint32_t beyond = 0;   // TCP's answers: the end of what is held beyond; 0: nothing
    std::uint32_t target = none;
    std::uint32_t came_by = none; // line by which it came into the switch where it is
    std::uint32_t payload_bytes = 0;
    std::uint16_t bytes = 0; // Ethernet payload: payload, header
    PacketKind kind = PacketKind::data;
    bool answers = false;    // data with an acknowledgement of the way back
    bool interrupts = false; // the first that an interrupt brings
    bool last = false;       // of its message
};
static_assert(sizeof(Packet) == 64);

// Numbers packets; a packet keeps its place in memory as long as it lives.
class PacketPool {
public:
    explicit PacketPool(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    [[nodiscard]] Packet& operator[](std::uint32_t index) noexcept {
        return (*blocks_[index >> block_bits])[index & block_mask];
    }

    // It is going to be asked for: its memory comes meanwhile.
    void prefetch(std::uint32_t index) const noexcept {
        __builtin_prefetch(&(*blocks_[index >> block_bits])[index & block_mask]);
    }

    // Throws Failure("limit") beyond the memory it may have.
    [[nodiscard]] std::uint32_t take() {
        if (free_ == none) {
            grow();
        }
        const std::uint32_t index = free_;
        Packet& packet = (*this)[index];
        free_ = packet.next;
        packet = Packet{};
        ++living_;
        ++created_;
        return index;
    }

    void give(std::uint32_t index) noexcept {
        (*this)[index].next = free_;
        free_ = index;
        --living_;
    }

    [[nodiscard]] std::uint64_t living() const noexcept { return living_; }
    [[nodiscard]] std::uint64_t created() const noexcept { return created_; }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return blocks_.size() * sizeof(Block);
    }

private:
    static constexpr std::uint32_t block_bits = 12;
    static constexpr std::uint32_t block_mask = (1U << block_bits) - 1;
    using Block = std::array<Packet, std::size_t{1} << block_bits>;

    void grow() {
        if (memory_bytes() + sizeof(Block) > most_bytes_) {
            throw Failure("limit", "the simulation needs more than limits.memory_bytes for " +
                                       std::to_string(living_) + " packets at one time");
        }
        const auto first = static_cast<std::uint32_t>(blocks_.size() << block_bits);
        blocks_.push_back(std::make_unique<Block>());
        for (std::uint32_t i = block_mask + 1; i-- > 0;) { // the lowest number is taken first
            (*blocks_.back())[i].next = free_;
            free_ = first + i;
        }
    }

    std::vector<std::unique_ptr<Block>> blocks_;
    std::uint64_t most_bytes_;
    std::uint64_t living_ = 0;
    std::uint64_t created_ = 0;
    std::uint32_t free_ = none;
};

// First in, first out, through Packet::next.
struct PacketQueue {
    std::uint32_t first = none;
    std::uint32_t last = none;

    [[nodiscard]] bool empty() const noexcept { return first == none; }

    void push(PacketPool& packets, std::uint32_t index) noexcept {
        packets[index].next = none;
        if (first == none) {
            first = index;
        } else {
            packets[last].next = index;
        }
        last = index;
    }

    std::uint32_t pop(PacketPool& packets) noexcept {
        const std::uint32_t index = first;
        first = packets[index].next;
        if (first != none) {
            packets.prefetch(first); // its turn is next, after many others' events
        }
        return index;
    }
};

} // namespace sonde::simulator
