// Go-Back-N with negative acknowledgements: the sender is Normal, sends again (ReSend) or waits
// (Stall); the receiver sends one Nack for each gap. A. Tam, 2001, section 4.2.1. Without fast
// retransmission there is no Nack and no Stall: simple Go-Back-N, which recovers by time-outs.
#pragma once

#include "simulator/transport.hpp"

namespace sonde::simulator {

class GoBackN final : public Transport {
public:
    using Transport::Transport;

    [[nodiscard]] bool may_send(std::uint32_t host) const override;
    [[nodiscard]] std::uint32_t next(std::uint32_t host) override;
    void receive(std::uint32_t host, std::uint32_t packet) override;
    void on_timer(std::uint32_t flow) override;
    void on_late_answer(std::uint32_t flow) override;

private:
    [[nodiscard]] bool may_send_new(const Flow& flow) const override;
    [[nodiscard]] std::uint32_t next_resend(PerHost& host);
    void leave(std::uint32_t flow_index, std::uint32_t packet_index);
    void take_data(std::uint32_t flow_index, const Packet& packet);
    void accept(std::uint32_t flow_index, const Packet& packet);
    void slide(std::uint32_t flow_index, std::uint32_t number);
    void take_pack(std::uint32_t flow_index, std::uint32_t number);
    void take_nack(std::uint32_t flow_index, std::uint32_t number);
    void resend(std::uint32_t flow_index, std::uint32_t sequence);
    void set_timer(std::uint32_t flow_index, VirtualTime at);
};

} // namespace sonde::simulator
