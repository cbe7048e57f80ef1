// Many to one by SimGrid: SENDERS hosts send PACKETS packets each to one more host, over links of
// 100 Mbit/s.
//
//     simulator_simgrid SENDERS PACKETS each|whole
//
// Writes the simulated ns until the last message arrived, and the messages that arrived. SimGrid
// knows no packets: a message is a fluid that shares the links it takes. With `each` every packet is
// a message, and a host sends one after the other; with `whole` all of a sender's packets are one.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace {

namespace sg = simgrid::s4u;

constexpr double rate_byte_per_s = 100e6 / 8;
constexpr double packet_bytes = 1538; // of the line: a full Ethernet frame, preamble and gap

void Send(sg::Mailbox* to, std::uint32_t messages, double bytes) {
    static char content = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
        to->put(&content, static_cast<std::uint64_t>(bytes));
    }
}

void Receive(const std::vector<sg::Mailbox*>& from, std::uint32_t messages) {
    // All that may come is asked for at once, one message of each sender.
    std::vector<sg::CommPtr> waiting;
    std::vector<std::uint32_t> left(from.size(), messages);
    std::vector<std::size_t> whose;
    static char* content = nullptr;
    for (std::size_t i = 0; i < from.size(); ++i) {
        waiting.push_back(from[i]->get_async<char>(&content));
        whose.push_back(i);
    }
    std::uint64_t arrived = 0;
    while (!waiting.empty()) {
        const auto at = static_cast<std::size_t>(sg::Comm::wait_any(waiting));
        ++arrived;
        const std::size_t sender = whose[at];
        if (--left[sender] > 0) {
            waiting[at] = from[sender]->get_async<char>(&content);
        } else {
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
            whose.erase(whose.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
    std::cout << std::llround(sg::Engine::get_clock() * 1e9) << ' ' << arrived << '\n';
}

} // namespace

int main(int argc, char** argv) {
    sg::Engine engine(&argc, argv);
    // The fluid alone, without the factors that make it resemble TCP.
    sg::Engine::set_config("network/model:CM02");
    sg::Engine::set_config("network/crosstraffic:0");
    sg::Engine::set_config("network/TCP-gamma:0");
    const auto senders = static_cast<std::uint32_t>(argc == 4 ? std::atol(argv[1]) : 0);
    const auto packets = static_cast<std::uint32_t>(argc == 4 ? std::atol(argv[2]) : 0);
    const std::string way = argc == 4 ? argv[3] : "";
    if (senders == 0 || packets == 0 || (way != "each" && way != "whole")) {
        std::cerr << "give the number of senders, of packets of each, and each or whole\n";
        return 2;
    }
    sg::NetZone* zone = sg::create_full_zone("zone");
    std::vector<sg::Host*> hosts;
    std::vector<sg::Link*> links;
    for (std::uint32_t i = 0; i <= senders; ++i) {
        hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9));
        links.push_back(zone->create_link("l" + std::to_string(i), rate_byte_per_s)
                            ->set_latency(0)
                            ->seal());
    }
    for (std::uint32_t i = 1; i <= senders; ++i) {
        zone->add_route(hosts[i]->get_netpoint(), hosts[0]->get_netpoint(), nullptr, nullptr,
                        {sg::LinkInRoute(links[i]), sg::LinkInRoute(links[0])}, true);
    }
    zone->seal();
    const std::uint32_t messages = way == "each" ? packets : 1;
    const double bytes = packet_bytes * packets / messages;
    std::vector<sg::Mailbox*> boxes;
    for (std::uint32_t i = 1; i <= senders; ++i) {
        boxes.push_back(sg::Mailbox::by_name(std::to_string(i)));
        sg::Actor::create("sender", hosts[i], Send, boxes.back(), messages, bytes);
    }
    sg::Actor::create("receiver", hosts[0], Receive, boxes, messages);
    engine.run();
    return 0;
}
