// What goes from one host to another: packets with numbers, in messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/go_back_n.hpp"
#include "simulator/packet.hpp"

namespace sonde::simulator {

// A message that waits to be sent, or what is left of it.
struct Message {
    std::uint32_t flow = none;
    std::uint32_t target = none; // host
    std::int64_t packets = 0;    // still to send
    std::int64_t last_bytes = 0; // payload of the last one
    std::int64_t tag = 0;        // the workload's
    std::uint32_t next = none;   // in the queue
};

// One line of memory: of a complete exchange no cache holds all flows, and each line that is
// touched counts. What only some transports or records need of a flow is with them.
struct alignas(64) Flow {
    std::uint32_t source = none;
    std::uint32_t target = none;  // none: each packet has its own
    std::uint32_t next = 0;       // packets made, each counted once
    std::uint32_t delivered = 0;  // to the workload
    protocol::Sender sender;      // Go-Back-N's
    protocol::Receiver receiver;  // and its partner's
    std::uint32_t reverse = none; // the flow the other way, where it is known
};
static_assert(sizeof(Flow) == 64);

class Flows {
public:
    Flows(std::uint32_t hosts, std::uint64_t most_bytes) : hosts_(hosts), most_bytes_(most_bytes) {}

    [[nodiscard]] Flow& operator[](std::uint32_t index) noexcept {
        return (*blocks_[index >> block_bits])[index & block_mask];
    }
    // The flow from one host to another; it is made where there is none yet.
    [[nodiscard]] std::uint32_t find(std::uint32_t source, std::uint32_t target);
    // The way back, also made.
    [[nodiscard]] std::uint32_t reverse_of(std::uint32_t flow);
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

private:
    static constexpr std::uint32_t block_bits = 10;
    static constexpr std::uint32_t block_mask = (1U << block_bits) - 1;
    using Block = std::array<Flow, std::size_t{1} << block_bits>;

    // Targets of one source. Targets that follow each other stand beside each other: in a complete
    // exchange each host goes through its partners, and finds the next one in the same cache line.
    struct Entry {
        std::uint32_t target = 0;
        std::uint32_t number = none; // none: nothing stands here
    };
    struct Row {
        std::vector<Entry> entries; // as many as a power of two, at most three quarters in use
        std::uint32_t used = 0;
    };

    // Of few hosts, numbers by distance, target less source, and source. In a step of an exchange
    // all hosts have partners at one distance or two: all numbers of that step, and all flows, lie
    // side by side. A distance takes room for all hosts, so many hosts have tables of their own.
    static constexpr std::uint32_t most_hosts_by_distance = 4096;

    [[nodiscard]] std::uint32_t find_by_distance(std::uint32_t source, std::uint32_t target);
    [[nodiscard]] std::uint32_t make(std::uint32_t source, std::uint32_t target);
    [[nodiscard]] static Entry& place(std::vector<Entry>& entries, std::uint32_t target) noexcept;
    void widen(Row& row);
    [[nodiscard]] std::uint32_t add(std::uint32_t source, std::uint32_t target);

    std::vector<std::unique_ptr<Block>> blocks_; // a flow keeps its place in memory
    std::uint32_t size_ = 0;
    std::vector<std::vector<std::uint32_t>> by_distance_;
    std::vector<Row> rows_; // by source
    std::uint32_t hosts_;
    std::uint64_t table_bytes_ = 0;
    std::uint64_t most_bytes_;
};

} // namespace sonde::simulator
