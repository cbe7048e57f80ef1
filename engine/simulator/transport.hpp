// Transports: what the processes of hosts do to carry messages. This is unreliable datagrams, and
// what all transports have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/log.hpp"
#include "simulator/event_queue.hpp"
#include "simulator/flows.hpp"
#include "simulator/hosts.hpp"
#include "simulator/network.hpp"
#include "simulator/packet.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

struct HostCounts {
    std::uint64_t messages_sent = 0, bytes_sent = 0, packets_sent = 0;
    std::uint64_t messages_received = 0, bytes_received = 0, packets_received = 0;
    std::uint64_t retransmitted = 0;
    std::uint64_t duplicate = 0, out_of_order = 0;
    std::uint64_t acknowledgements = 0, nacks = 0;
    std::uint64_t time_outs = 0, fast_retransmits = 0;
};

struct SentPacket { // of one that was delivered
    std::uint32_t source = 0;
    std::uint32_t sequence = 0;
    VirtualTime sent = 0;
    VirtualTime received = 0;
};

class Workload {
public:
    Workload() = default;
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    virtual ~Workload() = default;

    virtual void begin(std::uint32_t host) = 0;
    // The last packet of a message was handed to the ring for the first time.
    virtual void handed(std::uint32_t host, std::int64_t tag) = 0;
    // A packet is there, in its turn; last: it completes a message.
    virtual void delivered(std::uint32_t flow, std::uint32_t host, bool last) = 0;
    // All that a host has sent is acknowledged, or, of datagrams, handed over.
    virtual void settled(std::uint32_t host) = 0;
    virtual void worked(std::uint32_t host) = 0;
};

class Transport : public Process {
public:
    Transport(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts);

    void connect(Workload& workload) { workload_ = &workload; }

    // A message of so many bytes; packets: of so many full ones, whatever the bytes.
    void post(std::uint32_t flow, std::int64_t bytes, std::int64_t tag);
    // One packet of a flow that has no target of its own.
    void post_one(std::uint32_t flow, std::uint32_t target, std::int64_t tag);
    [[nodiscard]] std::uint32_t flow(std::uint32_t source, std::uint32_t target) {
        return flows_.find(source, target);
    }
    // A host sends only while fewer packets than this are under way to all partners.
    void limit_window(std::int64_t packets);

    [[nodiscard]] bool may_send(std::uint32_t host) const override;
    [[nodiscard]] std::uint32_t next(std::uint32_t host) override;
    void receive(std::uint32_t host, std::uint32_t packet) override;
    void worked(std::uint32_t host) override { workload_->worked(host); }

    virtual void on_timer(std::uint32_t flow);
    virtual void on_late_answer(std::uint32_t flow);

    [[nodiscard]] const Flow& flow_at(std::uint32_t flow) { return flows_[flow]; }
    [[nodiscard]] const HostCounts& counts(std::uint32_t host) const { return of_[host].counts; }
    // Whether all that a host was to send has been sent, and acknowledged.
    [[nodiscard]] bool is_settled(std::uint32_t host) const {
        return of_[host].first_message == none && of_[host].waiting_messages == 0 &&
               (!scenario_.reliable() || of_[host].under_way == 0);
    }
    [[nodiscard]] std::uint32_t flows() const noexcept { return flows_.size(); }
    // None where nothing happened, or nothing is recorded.
    [[nodiscard]] const protocol::Log* events_of(std::uint32_t flow) const;
    [[nodiscard]] const std::vector<SentPacket>& packets_of(std::uint32_t host) const {
        return kept_[host];
    }
    [[nodiscard]] std::uint64_t samples() const;
    // Of all flows together, since a packet arrived that had not arrived before.
    [[nodiscard]] std::uint64_t futile_time_outs() const noexcept { return futile_time_outs_; }

protected:
    struct PerHost {
        PacketQueue control; // answers that are to be sent
        std::uint32_t first_message = none;
        std::uint32_t last_message = none;
        std::int64_t waiting_messages = 0; // in queues of their flows
        std::int64_t under_way = 0;  // unacknowledged packets to all partners; of datagrams: sent,
                                     // less received
        std::int64_t sent_ahead = 0; // new packets sent, less those received
        HostCounts counts;
    };

    // Whether a new packet of the flow may be sent now.
    [[nodiscard]] virtual bool may_send_new(const Flow& flow) const;
    virtual void enqueue(std::uint32_t message);
    [[nodiscard]] bool within_global_window(const PerHost& host) const {
        return global_window_ == 0 ||
               (plan_.window_counts_received ? host.sent_ahead : host.under_way) < global_window_;
    }
    // The next packet of a message for the first time; the message is advanced.
    std::uint32_t make_new(std::uint32_t message_index, bool& message_ends);
    std::uint32_t make_data(std::uint32_t flow, std::uint32_t sequence, std::uint32_t target,
                            std::int64_t payload_bytes, bool last);
    void answer(std::uint32_t flow, PacketKind kind, std::uint32_t number);
    // Hands an accepted packet on to the workload.
    void deliver(std::uint32_t flow, std::uint32_t host, const Packet& packet);
    // Counts what a sender of a host was told; time-outs by packets whose timers ran out together.
    void count(std::uint32_t host, protocol::Event event, std::uint32_t packets = 1);
    // Where its events are to be kept; nullptr where they are not.
    [[nodiscard]] protocol::Log* log_of(std::uint32_t flow) {
        return scenario_.record.events ? &logs_[flow] : nullptr;
    }
    void message_handed(std::uint32_t host, std::uint32_t message_index);

    const Scenario& scenario_;
    const TransportPlan& plan_;
    EventQueue& events_;
    PacketPool& packets_;
    Hosts& hosts_;
    Workload* workload_ = nullptr;
    Flows flows_;
    std::vector<PerHost> of_;
    std::vector<Message> messages_;
    std::int64_t global_window_ = 0;

private:
    std::uint32_t new_message(const Message& message);

    std::uint32_t free_message_ = none;
    std::unordered_map<std::uint32_t, protocol::Log> logs_; // by flow
    std::vector<std::vector<SentPacket>> kept_;
    std::unordered_map<std::uint64_t, VirtualTime> sent_at_; // where packets are kept
    std::uint64_t samples_ = 0;
    std::uint64_t futile_time_outs_ = 0;
};

[[nodiscard]] std::unique_ptr<Transport>
make_transport(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts);

} // namespace sonde::simulator
