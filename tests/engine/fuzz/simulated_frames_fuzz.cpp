#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "fuzz/choices.hpp"
#include "simulator/event_queue.hpp"
#include "simulator/hosts.hpp"
#include "simulator/network.hpp"
#include "simulator/scenario.hpp"
#include "simulator/transport.hpp"

namespace sonde::fuzz {

namespace {

using namespace sonde::simulator;
using nlohmann::json;

constexpr std::uint32_t host_count = 3;
constexpr std::uint32_t most_messages = 6;
constexpr std::uint64_t most_events = 200'000;
constexpr std::size_t most_held = 8;

json choose_transport(Choices& choices) {
    const bool is_tcp = choices.below(4) == 3;
    json transport{{"kind", is_tcp ? "tcp" : "go_back_n"}};
    if (is_tcp) {
        transport["minimum_timeout_ns"] = 5'000'000;
        transport["selective"] = choices.flag();
        transport["delayed_acknowledgement_ns"] = choices.below(2) * 3'000'000;
        transport["receive_window_packets"] = 1 + choices.below(20);
        return transport;
    }
    transport["window_packets"] = 1 + choices.below(12);
    transport["timeout_ns"] = 5'000'000;
    transport["control_bytes"] = 46;
    transport["fast_retransmit"] = choices.flag();
    transport["acknowledge"] = choices.of(std::array{"immediate", "delayed", "piggyback"});
    if (transport["acknowledge"] != "immediate") {
        transport["delay_packets"] = 1 + choices.below(transport["window_packets"].get<unsigned>());
        transport["delay_ns"] = 1'000'000;
    }
    return transport;
}

Scenario choose_scenario(Choices& choices) {
    return read_scenario(
        {{"simulation", 1},
         {"host_kinds", {{"pc", json::object()}}},
         {"link_kinds", {{"fast", {{"rate_bit_per_s", 100'000'000}}}}},
         {"switch_kinds", {{"s", {{"architecture", "output"}}}}},
         {"switches", {{{"name", "s0"}, {"kind", "s"}}}},
         {"hosts", {{{"switch", "s0"}, {"count", host_count}, {"kind", "pc"}, {"link", "fast"}}}},
         {"transport", choose_transport(choices)},
         {"workload",
          {{"kind", "many_to_one"}, {"target", 0}, {"packets", 1}, {"payload_bytes", 1000}}}});
}

// Between the network and the hosts: while there are bytes, frames are lost, kept back, doubled.
class Meddler final : public NetworkExit {
public:
    Meddler(Choices& choices, PacketPool& packets, Hosts& hosts)
        : choices_(choices), packets_(packets), hosts_(hosts) {}

    void reach(std::uint32_t host, std::uint32_t packet) override {
        switch (choices_.used_up() ? 0 : choices_.below(8)) {
        case 1:
        case 2:
            packets_.give(packet);
            return;
        case 3: // it comes later
            if (held_.size() < most_held) {
                held_.emplace_back(host, packet);
                return;
            }
            break;
        case 4: { // it comes twice
            const std::uint32_t twin = packets_.take();
            packets_[twin] = packets_[packet];
            hosts_.reach(host, packet);
            hosts_.reach(host, twin);
            return;
        }
        case 5: // after one that waited
            release();
            break;
        default:
            break;
        }
        hosts_.reach(host, packet);
    }
    void room(std::uint32_t host) override { hosts_.room(host); }

    // Somebody who waited goes on; false where nobody did.
    bool release() {
        if (held_.empty()) {
            return false;
        }
        const auto [host, packet] = held_.front();
        held_.pop_front();
        hosts_.reach(host, packet);
        return true;
    }

private:
    Choices& choices_;
    PacketPool& packets_;
    Hosts& hosts_;
    std::deque<std::pair<std::uint32_t, std::uint32_t>> held_;
};

// Counts what arrives at whom.
class Receiver final : public Workload {
public:
    void begin(std::uint32_t /*host*/) override {}
    void handed(std::uint32_t /*host*/, std::int64_t /*tag*/) override {}
    void delivered(std::uint32_t flow, std::uint32_t /*host*/, bool last) override {
        ++packets[flow];
        messages[flow] += last ? 1 : 0;
    }
    void settled(std::uint32_t /*host*/) override {}
    void worked(std::uint32_t /*host*/) override {}

    std::map<std::uint32_t, std::int64_t> packets, messages; // by flow
};

class Play {
public:
    explicit Play(Choices& choices)
        : choices_(choices), scenario_(choose_scenario(choices)),
          packets_(std::uint64_t{64} << 20U), hosts_(scenario_, events_, packets_),
          meddler_(choices, packets_, hosts_), network_(scenario_, events_, packets_, meddler_),
          transport_(make_transport(scenario_, events_, packets_, hosts_)) {
        hosts_.connect(network_, *transport_);
        transport_->connect(receiver_);
    }

    void run() {
        for (std::uint32_t left = 1 + choices_.below(most_messages); left > 0; --left) {
            post();
        }
        do { // who was kept back may make nothing happen
            for (Event event; events_.pop(event);) {
                happen(event);
                require_that(events_.happened() < most_events, "messages do not come to an end");
            }
        } while (meddler_.release());
        check();
    }

private:
    void post() {
        const std::uint32_t source = choices_.below(host_count);
        const std::uint32_t target = (source + 1 + choices_.below(host_count - 1)) % host_count;
        const std::uint32_t flow = transport_->flow(source, target);
        const auto packets = static_cast<std::int64_t>(1 + choices_.below(12));
        asked_.messages[flow] += 1;
        asked_.packets[flow] += packets;
        transport_->post(flow, packets * 1000, 0);
    }

    void happen(const Event& event) {
        switch (event.kind()) {
        case EventKind::reach_switch:
            return network_.on_reach_switch(event.place(), event.item());
        case EventKind::reach_host:
            return network_.on_reach_host(event.place(), event.item());
        case EventKind::ready:
            return network_.on_ready(event.place(), event.item());
        case EventKind::line_free:
            return network_.on_line_free(event.place());
        case EventKind::card:
            return hosts_.on_card(event.place(), event.item());
        case EventKind::interrupt:
            return hosts_.on_interrupt(event.place(), event.item());
        case EventKind::process:
            return hosts_.on_process(event.place());
        case EventKind::kernel:
            return hosts_.on_kernel(event.place());
        case EventKind::timer:
            return transport_->on_timer(event.item());
        case EventKind::late_answer:
            return transport_->on_late_answer(event.item());
        default:
            throw std::logic_error("an event that this scenario has not");
        }
    }

    void check() {
        require_that(receiver_.packets == asked_.packets && receiver_.messages == asked_.messages,
                     "other packets or messages arrived than were sent");
        for (std::uint32_t host = 0; host < host_count; ++host) {
            require_that(transport_->is_settled(host), "a sender waits for ever");
        }
        network_.check_empty();
        hosts_.check_empty();
        require_that(packets_.living() == 0, "packets are left over");
    }

    Choices& choices_;
    Scenario scenario_;
    EventQueue events_;
    PacketPool packets_;
    Hosts hosts_;
    Meddler meddler_;
    Network network_;
    Receiver receiver_;
    Receiver asked_;
    std::unique_ptr<Transport> transport_;
};

} // namespace

// Every message arrives once and whole, whatever happens to frames on their way.
void play_simulated_frames(std::span<const std::uint8_t> bytes) {
    Choices choices(bytes);
    Play(choices).run();
}

} // namespace sonde::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sonde::fuzz::play_simulated_frames({data, size});
    return 0;
}
