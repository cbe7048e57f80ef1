// What goes from one host to another: packets with numbers, in messages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
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

struct Flow {
    Flow(std::uint32_t from, std::uint32_t to) : source(from), target(to) {}

    std::uint32_t source;
    std::uint32_t target; // none: each packet has its own
    std::uint32_t reverse = none;
    // The sender.
    std::uint32_t base = 0; // the first that is not acknowledged
    std::uint32_t next = 0; // the first that was never sent
    std::uint32_t resends = 0;
    Sender state = Sender::normal;
    bool unstalled = false; // a Pack came while it was sending again
    bool timer_set = false;
    std::vector<Slot> slots;   // of packets base to next, by their number modulo a power of two
    std::uint32_t runs = none; // of events, where they are kept
    // The receiver.
    std::uint32_t expected = 0;
    std::uint32_t delivered = 0;  // to the workload
    std::uint32_t unanswered = 0; // accepted and not acknowledged
    bool stalled = false;         // it has sent a Nack and waits for that packet
    bool answer_set = false;      // a late acknowledgement is under way to be sent
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
    std::deque<Flow> flows_; // a flow keeps its place in memory
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::uint64_t most_bytes_;
};

} // namespace sonde::simulator
