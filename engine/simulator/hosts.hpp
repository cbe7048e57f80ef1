// Hosts: a CPU that the process and arriving packets share, and a card with a ring to send
// and a pool to receive.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/event_queue.hpp"
#include "simulator/network.hpp"
#include "simulator/packet.hpp"
#include "simulator/random.hpp"
#include "simulator/scenario.hpp"

namespace sonde::simulator {

// What the process of a host does with packets; see Transport.
class Process {
public:
    Process() = default;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    virtual ~Process() = default;

    // Whether there may be something to send: no promise.
    [[nodiscard]] virtual bool may_send(std::uint32_t host) const = 0;
    // The next packet to send, none where nothing can be sent now.
    [[nodiscard]] virtual std::uint32_t next(std::uint32_t host) = 0;
    // The process has taken a packet; whose memory is now its own business.
    virtual void receive(std::uint32_t host, std::uint32_t packet) = 0;
    // A piece of local work is done.
    virtual void worked(std::uint32_t host) = 0;
};

class Hosts final : public NetworkExit {
public:
    Hosts(const Scenario& scenario, EventQueue& events, PacketPool& packets);

    // Both are made after this, and outlive its use.
    void connect(Network& network, Process& process);

    // Something has changed: there may be more to send.
    void poke(std::uint32_t host) { run(host); }
    // Local work on so many bytes: a copy, or joining two vectors.
    void work(std::uint32_t host, std::int64_t bytes);

    void reach(std::uint32_t host, std::uint32_t packet) override;
    void room(std::uint32_t host) override { run(host); }

    void on_card(std::uint32_t host, std::uint32_t packet);
    void on_interrupt(std::uint32_t host, std::uint32_t number);
    void on_process(std::uint32_t host);
    void on_kernel(std::uint32_t host);

    [[nodiscard]] VirtualTime timer_late(std::uint32_t host) const {
        return hosts_[host].kind->timer_late;
    }
    [[nodiscard]] std::uint64_t lost(std::uint32_t host) const { return hosts_[host].lost; }
    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }
    void check_empty() const;

private:
    enum class Work : std::uint8_t { kernel, take, send, local };

    struct Host {
        const HostKind* kind = nullptr;
        PacketQueue card;    // wait for an interrupt
        PacketQueue kernel;  // wait for the CPU
        PacketQueue arrived; // wait for the process
        std::int64_t in_pool = 0;
        std::int64_t on_card = 0;
        VirtualTime card_free_at = 0;
        VirtualTime last_arrival = 0;
        std::uint32_t interrupts = 0;
        Work work = Work::take;
        std::uint32_t work_packet = none;
        std::uint32_t kernel_packet = none; // of the other CPU
        bool busy = false;
        bool kernel_busy = false;
        bool choosing = false;
        bool kernel_choosing = false;
        bool sent_last = false;
        std::vector<std::int64_t> local_bytes; // of pieces of local work, the first one first
        Random random;
        std::uint64_t lost = 0;
    };

    void run(std::uint32_t host_index);
    [[nodiscard]] bool choose(std::uint32_t host_index, Host& host);
    [[nodiscard]] bool choose_send(std::uint32_t host_index, Host& host);
    [[nodiscard]] VirtualTime cost(Host& host);
    [[nodiscard]] VirtualTime kernel_cost(const Host& host, std::uint32_t packet_index);
    [[nodiscard]] static VirtualTime jitter(Host& host);
    void finish(std::uint32_t host_index);
    void run_kernel(std::uint32_t host_index);
    void raise(std::uint32_t host_index);

    const Scenario& scenario_;
    EventQueue& events_;
    PacketPool& packets_;
    Network* network_ = nullptr;
    Process* process_ = nullptr;
    std::vector<Host> hosts_;
    std::uint64_t delivered_ = 0;
};

} // namespace sonde::simulator
