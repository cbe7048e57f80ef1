// Plays the protocol's Go-Back-N in virtual time: packets of many flows share a host's ring,
// answers go first, then what is sent again, then what is new.
#pragma once

#include <vector>

#include "protocol/go_back_n.hpp"
#include "simulator/transport.hpp"

namespace sonde::simulator {

class GoBackN final : public Transport {
public:
    GoBackN(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts);

    [[nodiscard]] bool may_send(std::uint32_t host) const override;
    [[nodiscard]] std::uint32_t next(std::uint32_t host) override;
    void receive(std::uint32_t host, std::uint32_t packet) override;
    void on_timer(std::uint32_t flow) override;
    void on_late_answer(std::uint32_t flow) override;

private:
    // Flows of a host that have something to send again, in the order in which they learned it.
    struct Resends {
        std::vector<std::uint32_t> flows;
        std::size_t taken = 0;

        [[nodiscard]] bool empty() const noexcept { return taken == flows.size(); }
        [[nodiscard]] std::uint32_t first() const { return flows[taken]; }
        void push(std::uint32_t flow) { flows.push_back(flow); }
        void pop() {
            if (++taken == flows.size()) {
                flows.clear();
                taken = 0;
            }
        }
    };

    [[nodiscard]] bool may_send_new(const Flow& flow) const override;
    [[nodiscard]] std::uint32_t next_resend(std::uint32_t host);
    [[nodiscard]] std::uint32_t next_new(std::uint32_t host);
    void leave(std::uint32_t flow_index, std::uint32_t packet_index, VirtualTime timer_at);
    void take_data(std::uint32_t flow_index, const Packet& packet);
    void take_pack(std::uint32_t flow_index, std::uint32_t number);
    void take_nack(std::uint32_t flow_index, std::uint32_t number);
    void settle(std::uint32_t host, std::uint32_t acknowledged);
    void say(std::uint32_t flow_index, protocol::Answer with);
    void set_timer(EventKind kind, std::uint32_t host, std::uint32_t flow_index, VirtualTime at);

    protocol::SendRules send_rules_;
    protocol::AnswerRules answer_rules_;
    std::vector<Resends> resends_; // by host
};

} // namespace sonde::simulator
