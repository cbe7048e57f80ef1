// A transport like TCP, in whole packets: slow start, congestion avoidance, fast retransmission and
// recovery with or without selective acknowledgements, time-outs that double, delayed
// acknowledgements. What it leaves out is told in docs/methods/simulator.md.
#pragma once

#include <memory>
#include <vector>

#include "simulator/tcp_state.hpp"
#include "simulator/transport.hpp"

namespace sonde::simulator {

class Tcp final : public Transport {
public:
    Tcp(const Scenario& scenario, EventQueue& events, PacketPool& packets, Hosts& hosts);

    [[nodiscard]] bool may_send(std::uint32_t host) const override;
    [[nodiscard]] std::uint32_t next(std::uint32_t host) override;
    void receive(std::uint32_t host, std::uint32_t packet) override;
    void on_timer(std::uint32_t flow) override;
    void on_late_answer(std::uint32_t flow) override;

private:
    // Flows of a host that may have something to send, each in its turn.
    struct Ready {
        std::vector<std::uint32_t> flows;
        std::size_t taken = 0;
        std::vector<std::uint32_t> held; // until there is room in the host's window
    };

    void enqueue(std::uint32_t message) override;
    TcpState& state(std::uint32_t flow_index);
    void make_ready(std::uint32_t flow_index);
    void hold(std::uint32_t flow_index);
    void release_held(std::uint32_t host);
    [[nodiscard]] std::uint32_t next_of(std::uint32_t flow_index);
    [[nodiscard]] std::uint32_t next_new(std::uint32_t flow_index, double flying);
    [[nodiscard]] std::uint32_t next_repair(std::uint32_t flow_index);
    [[nodiscard]] static bool is_lost(const TcpState& tcp, std::uint32_t sequence);
    [[nodiscard]] static double in_flight(const Flow& flow, const TcpState& tcp);
    void start_timer(std::uint32_t flow_index);

    void take_answer(std::uint32_t flow_index, const Packet& packet);
    void take_new(std::uint32_t flow_index, std::uint32_t number);
    void note(std::uint32_t flow_index, protocol::Event event);
    void take_duplicate(std::uint32_t flow_index);
    void measure(TcpState& tcp, std::uint32_t number);
    static void begin_repair(Flow& flow, TcpState& tcp, bool by_timeout);

    void take_data(std::uint32_t flow_index, std::uint32_t packet_index);
    void acknowledge(std::uint32_t flow_index);
    void keep_beyond(std::uint32_t flow_index, std::uint32_t packet_index);
    void answer_range(std::uint32_t flow_index, std::uint32_t around);

    std::vector<Ready> ready_;                      // by host
    std::vector<std::unique_ptr<TcpState>> states_; // by flow
};

} // namespace sonde::simulator
