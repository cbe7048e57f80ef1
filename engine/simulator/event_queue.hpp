// What is still to happen, in order of time; what was asked for first happens first at one instant.
//
// A radix heap with digits of six bits: an event lies at the level of the highest digit in which
// its time differs from now. Time only moves on, so an event only moves to lower levels, and each
// move reads and writes memory in sequence. Events of one time are always in one slot, in their
// order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "fabric/virtual_time.hpp"
#include "simulator/require.hpp"

namespace sonde::simulator {

enum class EventKind : std::uint8_t {
    reach_switch, // place: line, item: packet
    reach_host,   // place: line, item: packet
    ready,        // place: line by which it came, item: packet; its switch may send it now
    line_free,    // place: line
    input_free,   // place: line
    pause,        // place: line, item: 1 pause, 0 go on
    card,         // place: host, item: packet; the card takes it in
    interrupt,    // place: host, item: number of the interrupt that was waited for
    process,      // place: host; the process has done a piece of work
    kernel,       // place: host; the other CPU has received a packet
    timer,        // item: flow
    late_answer,  // item: flow; an acknowledgement was delayed so long
    begin,        // place: host; the workload's
};

struct Event {
    VirtualTime at = 0;
    std::uint64_t what = 0; // kind, 28 bits of place, 32 bits of item

    Event() = default;
    Event(VirtualTime time, EventKind kind, std::uint32_t place, std::uint32_t item)
        : at(time), what(static_cast<std::uint64_t>(kind) << 60U |
                         static_cast<std::uint64_t>(place) << 32U | item) {}

    [[nodiscard]] EventKind kind() const noexcept { return static_cast<EventKind>(what >> 60U); }
    [[nodiscard]] std::uint32_t place() const noexcept {
        return static_cast<std::uint32_t>(what >> 32U) & 0xFFFFFFFU;
    }
    [[nodiscard]] std::uint32_t item() const noexcept { return static_cast<std::uint32_t>(what); }
};

class EventQueue {
public:
    [[nodiscard]] VirtualTime now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t happened() const noexcept { return happened_; }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return chunks_.capacity() * sizeof(Chunk);
    }

    void push(const Event& event) {
        require(event.at >= now_, "the simulator would have to turn time back");
        put(event);
        ++size_;
    }

    void push(VirtualTime at, EventKind kind, std::uint32_t place, std::uint32_t item = 0) {
        push(Event(at, kind, place, item));
    }

    // The next event, and time moves there; false: there is none.
    [[nodiscard]] bool pop(Event& event) {
        if (size_ == 0) {
            return false;
        }
        --size_;
        ++happened_;
        const auto level = static_cast<std::uint32_t>(std::countr_zero(levels_));
        if (level == 0) {
            const std::uint32_t slot = lowest_slot(0);
            event = take_first(slot);
            now_ = event.at;
            return true;
        }
        open(level);
        event = take_first(static_cast<std::uint32_t>(now_) & digit_mask);
        return true;
    }

private:
    static constexpr std::uint32_t digit_bits = 6;
    static constexpr std::uint32_t digits = 1U << digit_bits;
    static constexpr std::uint32_t digit_mask = digits - 1;
    static constexpr std::uint32_t level_count = 11; // of 64 bits
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t in_chunk = 7;

    struct Chunk { // two cache lines
        std::uint32_t next = none;
        std::uint32_t begin = 0; // the first that was not yet taken
        std::uint32_t end = 0;
        std::uint32_t unused = 0;
        std::array<Event, in_chunk> events;
    };
    struct Slot {
        std::uint32_t first = none;
        std::uint32_t last = none;
    };

    [[nodiscard]] std::uint32_t lowest_slot(std::uint32_t level) const noexcept {
        return level * digits + static_cast<std::uint32_t>(std::countr_zero(filled_[level]));
    }

    void put(const Event& event) {
        const auto differs = static_cast<std::uint64_t>(event.at ^ now_);
        const std::uint32_t level =
            std::min(static_cast<std::uint32_t>(std::bit_width(differs | 1U) - 1) / digit_bits,
                     level_count - 1);
        const auto digit =
            static_cast<std::uint32_t>(event.at >> (level * digit_bits)) & digit_mask;
        Slot& slot = slots_[level * digits + digit];
        if (slot.first == none) {
            slot.first = slot.last = take_chunk();
            filled_[level] |= std::uint64_t{1} << digit;
            levels_ |= 1U << level;
        } else if (chunks_[slot.last].end == in_chunk) {
            const std::uint32_t more = take_chunk();
            chunks_[slot.last].next = more;
            slot.last = more;
        }
        Chunk& chunk = chunks_[slot.last];
        chunk.events[chunk.end++] = event;
    }

    Event take_first(std::uint32_t slot_index) {
        Slot& slot = slots_[slot_index];
        Chunk& chunk = chunks_[slot.first];
        const Event event = chunk.events[chunk.begin++];
        if (chunk.begin == chunk.end) {
            const std::uint32_t next = chunk.next;
            give_chunk(slot.first);
            slot.first = next;
            if (next == none) {
                slot.last = none;
                mark_empty(slot_index);
            }
        }
        return event;
    }

    void mark_empty(std::uint32_t slot_index) noexcept {
        const std::uint32_t level = slot_index / digits;
        filled_[level] &= ~(std::uint64_t{1} << (slot_index & digit_mask));
        if (filled_[level] == 0) {
            levels_ &= ~(1U << level);
        }
    }

    // Moves time to the earliest event of the lowest slot, and its events to lower levels.
    void open(std::uint32_t level) {
        const std::uint32_t slot_index = lowest_slot(level);
        std::uint32_t at = slots_[slot_index].first;
        slots_[slot_index] = Slot{};
        mark_empty(slot_index);
        now_ = earliest(at);
        while (at != none) {
            for (std::uint32_t i = chunks_[at].begin; i < chunks_[at].end; ++i) {
                const Event event = chunks_[at].events[i]; // put() may move the chunks
                put(event);
            }
            const std::uint32_t next = chunks_[at].next;
            give_chunk(at);
            at = next;
        }
    }

    [[nodiscard]] VirtualTime earliest(std::uint32_t at) const noexcept {
        VirtualTime least = never;
        for (; at != none; at = chunks_[at].next) {
            const Chunk& chunk = chunks_[at];
            for (std::uint32_t i = chunk.begin; i < chunk.end; ++i) {
                least = std::min(least, chunk.events[i].at);
            }
        }
        return least;
    }

    std::uint32_t take_chunk() {
        if (free_ == none) {
            chunks_.emplace_back();
            return static_cast<std::uint32_t>(chunks_.size() - 1);
        }
        const std::uint32_t chunk = free_;
        free_ = chunks_[chunk].next;
        chunks_[chunk].next = none;
        chunks_[chunk].begin = chunks_[chunk].end = 0;
        return chunk;
    }

    void give_chunk(std::uint32_t chunk) noexcept {
        chunks_[chunk].next = free_;
        free_ = chunk;
    }

    VirtualTime now_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t happened_ = 0;
    std::uint32_t levels_ = 0;                        // which have any event
    std::array<std::uint64_t, level_count> filled_{}; // which of their slots do
    std::array<Slot, std::size_t{level_count} * digits> slots_{};
    std::vector<Chunk> chunks_;
    std::uint32_t free_ = none;
};

} // namespace sonde::simulator
