// What goes from one host to another: packets with numbers, in messages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fabric/virtual_time.hpp"
#include "simulator/packet.hpp"
#include "simulator/tcp_state.hpp"

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

enum class Sender : std::uint8_t { normal, resend, stall };

// A packet that was sent and not acknowledged.
struct Slot {
    VirtualTime deadline = never; // when its timer runs out; TCP: when it was sent
    std::uint32_t payload_bytes = 0;
    bool resend = false; // it is waiting to be sent again
    bool last = false;   // of its message
    bool held = false;   // TCP: the receiver has it, beyond what it expects
    bool again = false;  // it was sent more than once
};

// What every packet touches lies together at the begin: of a complete exchange no cache holds all
// flows, and each line of memory that is touched counts.
struct alignas(32) Flow {
    Flow(std::uint32_t from, std::uint32_t to) : source(from), target(to) {}

    std::uint32_t source;
    std::uint32_t target;        // none: each packet has its own
    std::uint32_t next = 0;      // the sender: the first that was never sent
    std::uint32_t delivered = 0; // the receiver: to the workload
    std::uint32_t base = 0;      // the sender: the first that is not acknowledged
    std::uint32_t expected = 0;  // the receiver
    Sender state = Sender::normal;
    bool unstalled = false;       // a Pack came while it was sending again
    bool timer_set = false;       // of the sender
    bool stalled = false;         // the receiver has sent a Nack and waits for that packet
    bool answer_set = false;      // a late acknowledgement is under way to be sent
    std::uint32_t unanswered = 0; // accepted and not acknowledged
    std::uint32_t resends = 0;
    std::uint32_t reverse = none;
    std::uint32_t runs = none; // of events, where they are kept
    std::vector<Slot> slots;   // of packets base to next, by their number modulo a power of two
    std::unique_ptr<TcpState> tcp;

    [[nodiscard]] Slot& slot(std::uint32_t sequence) {
        return slots[sequence & (slots.size() - 1)];
    }
    // Room for another outstanding packet.
    Slot& add_slot(std::uint32_t sequence);
};

class Flows {
public:
    explicit Flows(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    [[nodiscard]] Flow& operator[](std::uint32_t index) { return flows_[index]; }
    // The flow from one host to another; it is made where there is none yet.
    [[nodiscard]] std::uint32_t find(std::uint32_t source, std::uint32_t target);
    // The way back, also made.
    [[nodiscard]] std::uint32_t reverse_of(std::uint32_t flow);
    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(flows_.size());
    }

private:
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

    [[nodiscard]] static Entry& place(std::vector<Entry>& entries, std::uint32_t target) noexcept;
    void widen(Row& row);
    [[nodiscard]] std::uint32_t add(std::uint32_t source, std::uint32_t target);

    std::deque<Flow> flows_; // a flow keeps its place in memory
    std::vector<Row> rows_;  // by source
    std::uint64_t table_bytes_ = 0;
    std::uint64_t most_bytes_;
};

} // namespace sonde::simulator
