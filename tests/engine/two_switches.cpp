// The switch that is played on frames (fabric) and the one that is simulated are two programs for
// one thing: the same frames at the same times come out of both at the same picosecond, or of
// neither.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"
#include "simulator.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("two_switches");

namespace {

struct Message {
    std::int64_t at_ns = 0;
    std::uint32_t source = 0, target = 0;
    std::uint32_t bytes = 0; // of Ethernet payload
};

struct HostPlan {
    std::size_t leaf = 0;
    std::int64_t up = 0, down = 0; // bit/s
    std::int64_t delay_ns = 0;
};

// One switch, or leaves below a root that has no hosts.
struct Cluster {
    std::string architecture;
    std::int64_t packets = 0;
    std::int64_t port_cap = 0; // shared; 0: none
    std::int64_t reserve = 0;  // of an uplink; 0: none
    bool cut_through = false;
    std::int64_t latency_ns = 0;
    std::size_t leaves = 0; // 0: hosts are at the one switch
    std::int64_t uplink = 0;
    std::vector<HostPlan> hosts;
    std::vector<Message> messages;
};

// From whom, to whom and the how manieth of the two; and when its last bit was there.
using Arrived = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, VirtualTime>;

Cluster draw(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t most) { return random() % most; };
    const auto number = [&](std::uint64_t least, std::uint64_t most) {
        return static_cast<std::int64_t>(least + below(most - least + 1));
    };
    // No two events fall on one instant, at which their order would be anybody's choice.
    const auto rate = [&] { return number(10'000'000, 200'000'000) | 1; };
    Cluster made;
    made.architecture = std::array{"input", "output", "shared"}[seed % 3];
    made.packets = number(2, 14);
    made.port_cap = below(2) == 0 ? 0 : number(1, static_cast<std::uint64_t>(made.packets));
    made.cut_through = below(2) == 0;
    made.latency_ns = below(2) == 0 ? 0 : number(1, 30'000);
    made.leaves = below(3) == 0 ? 2 + below(2) : 0;
    if (made.architecture == "shared" && made.leaves > 0) { // or a flood reaches not all switches
        made.packets += 10;
    }
    made.uplink = rate();
    made.reserve = below(2) == 0 ? 0 : number(1, 10);
    const auto hosts = static_cast<std::size_t>(number(3, 8));
    for (std::size_t host = 0; host < hosts; ++host) {
        const std::size_t leaf = made.leaves == 0 ? 0 : host * made.leaves / hosts;
        made.hosts.push_back({leaf, rate(), rate(), number(0, 20'000)});
    }
    for (int i = 0; i < 300; ++i) {
        const auto source = static_cast<std::uint32_t>(below(hosts));
        const auto step = static_cast<std::uint32_t>(1 + below(hosts - 1));
        // Half of them to two hosts, so that buffers overflow.
        auto target = static_cast<std::uint32_t>((source + step) % hosts);
        target = below(2) == 0 && source > 1 ? static_cast<std::uint32_t>(below(2)) : target;
        made.messages.push_back(
            {number(0, 20'000'000), source, target, static_cast<std::uint32_t>(number(2, 1500))});
    }
    std::stable_sort(made.messages.begin(), made.messages.end(),
                     [](const Message& a, const Message& b) { return a.at_ns < b.at_ns; });
    return made;
}

std::string numbered(const char* name, std::size_t number) {
    return std::string(name).append(std::to_string(number));
}

json simulated_switches(const Cluster& cluster) {
    json switches{{{"name", "s"}, {"kind", "s"}}};
    for (std::size_t leaf = 0; leaf < cluster.leaves; ++leaf) {
        switches.push_back(
            {{"name", numbered("leaf", leaf)}, {"kind", "s"}, {"parent", "s"}, {"link", "uplink"}});
    }
    return switches;
}

json simulated_kind(const Cluster& cluster) {
    json kind{{"architecture", cluster.architecture},
              {"buffer_packets", cluster.packets},
              {"cut_through", cluster.cut_through},
              {"latency_ns", cluster.latency_ns}};
    if (cluster.architecture == "shared" && cluster.port_cap > 0) {
        kind["port_cap_packets"] = cluster.port_cap;
    }
    if (cluster.reserve > 0) {
        kind["uplink_buffer_packets"] = cluster.reserve;
    }
    return kind;
}

Arrived simulate_frames(const Cluster& cluster, std::uint64_t& lost) {
    json scenario{{"simulation", 1},
                  {"host_kinds", {{"pc", {{"transmit_ring_packets", 1000}}}}},
                  {"link_kinds", {{"uplink", {{"rate_bit_per_s", cluster.uplink}}}}},
                  {"switch_kinds", {{"s", simulated_kind(cluster)}}},
                  {"switches", simulated_switches(cluster)},
                  {"hosts", json::array()},
                  {"transport", {{"kind", "datagram"}, {"header_bytes", 0}}},
                  {"workload", {{"kind", "trace"}, {"payload_bytes", 1500}}},
                  {"record", {{"packets", true}}}};
    for (std::size_t host = 0; host < cluster.hosts.size(); ++host) {
        const HostPlan& plan = cluster.hosts[host];
        const std::string link = numbered("l", host);
        scenario["link_kinds"][link] = {{"rate_bit_per_s", plan.up},
                                        {"down_rate_bit_per_s", plan.down},
                                        {"propagation_ns", plan.delay_ns}};
        const std::string at = cluster.leaves == 0 ? "s" : numbered("leaf", plan.leaf);
        scenario["hosts"].push_back({{"switch", at}, {"count", 1}, {"kind", "pc"}, {"link", link}});
    }
    for (const Message& message : cluster.messages) {
        scenario["workload"]["messages"].push_back(
            {message.at_ns, message.source, message.target, message.bytes});
    }
    const simulator::Outcome outcome = simulator::run_scenario(scenario);
    lost = outcome.lost_overflow;
    Arrived arrived;
    for (std::uint32_t rank = 0; rank < cluster.hosts.size(); ++rank) {
        for (const simulator::SentPacket& packet : outcome.packets_of[rank]) {
            arrived[{packet.source, rank, packet.sequence}] = packet.received;
        }
    }
    return arrived;
}

class Exit final : public FabricExit {
public:
    explicit Exit(FramePool& frames) : frames_(frames) {}
    void deliver(std::uint32_t host, FrameIndex frame, VirtualTime at) override {
        const auto bytes = frames_.bytes(frame);
        const auto at_byte = [&](std::size_t i) {
            return std::to_integer<std::uint32_t>(bytes[i]);
        };
        if (at_byte(0) != 255) { // those that only introduce a host
            arrived[{at_byte(11), host, at_byte(14) << 8U | at_byte(15)}] = at - begin;
        }
    }
    Arrived arrived;
    VirtualTime begin = 0;

private:
    FramePool& frames_;
};

SwitchPlan played_switch(const Cluster& cluster, const std::string& name) {
    static const std::map<std::string, Architecture> known{{"input", Architecture::input},
                                                           {"output", Architecture::output},
                                                           {"shared", Architecture::shared}};
    SwitchPlan plan;
    plan.name = name;
    plan.architecture = known.at(cluster.architecture);
    plan.capacity.packets = cluster.packets;
    if (plan.architecture == Architecture::shared && cluster.port_cap > 0) {
        plan.port_cap.packets = cluster.port_cap;
    }
    plan.cut_through = cluster.cut_through;
    plan.latency_ns = cluster.latency_ns;
    return plan;
}

Topology played(const Cluster& cluster) {
    Topology topology;
    topology.switches.push_back(played_switch(cluster, "s"));
    for (std::size_t host = 0; host < cluster.hosts.size(); ++host) {
        const HostPlan& plan = cluster.hosts[host];
        LinkPlan link;
        link.name = link.lower = numbered("h", host);
        link.upper = cluster.leaves == 0 ? "s" : numbered("leaf", plan.leaf);
        link.from_host = true;
        link.up.rate_bit_per_s = plan.up;
        link.down.rate_bit_per_s = plan.down;
        link.up.delay_ns = link.down.delay_ns = plan.delay_ns;
        topology.hosts.push_back(link.lower);
        topology.links.push_back(link);
    }
    for (std::size_t leaf = 0; leaf < cluster.leaves; ++leaf) {
        topology.switches.push_back(played_switch(cluster, numbered("leaf", leaf)));
        LinkPlan link;
        link.name = link.lower = numbered("leaf", leaf);
        link.upper = "s";
        link.up.rate_bit_per_s = link.down.rate_bit_per_s = cluster.uplink;
        if (cluster.reserve > 0) {
            link.lower_capacity.packets = cluster.reserve;
        }
        topology.links.push_back(link);
    }
    return topology;
}

FrameIndex make_frame(FramePool& frames, std::uint32_t from, std::uint32_t to, std::uint32_t number,
                      std::uint32_t bytes) {
    const FrameIndex frame = frames.take().value();
    const auto room = frames.room(frame);
    std::fill(room.begin(), room.begin() + frame_header_bytes + bytes, std::byte{0});
    room[0] = room[6] = std::byte{2};
    room[5] = static_cast<std::byte>(to);
    room[11] = static_cast<std::byte>(from);
    room[14] = static_cast<std::byte>(number >> 8U);
    room[15] = static_cast<std::byte>(number);
    frames.set_length(frame, frame_header_bytes + bytes);
    return frame;
}

Arrived play_frames(const Cluster& cluster, std::uint64_t& lost) {
    const Topology topology = played(cluster);
    FramePool frames(2000, std::size_t{16} << 20U);
    Exit exit(frames);
    Fabric fabric(topology, frames, exit);
    constexpr VirtualTime second = from_ns(1'000'000'000);
    for (std::uint32_t host = 0; host < cluster.hosts.size(); ++host) { // all are known then
        const FrameIndex frame = make_frame(frames, host, 0, 0, 46);
        std::fill_n(frames.room(frame).begin(), 6, std::byte{255});
        fabric.send(host, frame, fabric.now());
        fabric.advance(fabric.now() + second);
    }
    fabric.forget_counters();
    exit.begin = fabric.now();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (const Message& message : cluster.messages) {
        const std::uint32_t number = numbers[{message.source, message.target}]++;
        const FrameIndex frame =
            make_frame(frames, message.source, message.target, number, message.bytes);
        fabric.send(message.source, frame, exit.begin + from_ns(message.at_ns));
    }
    fabric.advance(exit.begin + 10 * second);
    CHECK(frames.in_use() == 0);
    for (std::size_t link = 0; link < topology.links.size(); ++link) {
        lost += fabric.port_counters(link, true).dropped;
        if (!topology.links[link].from_host) {
            lost += fabric.port_counters(link, false).dropped;
        }
    }
    return exit.arrived;
}

// Frames of one host to another arrive in the order in which they were sent.
bool keep_order(const Arrived& arrived) {
    return std::adjacent_find(arrived.begin(), arrived.end(), [](const auto& a, const auto& b) {
               const auto& [a_from, a_to, a_number] = a.first;
               const auto& [b_from, b_to, b_number] = b.first;
               return a_from == b_from && a_to == b_to && a.second >= b.second;
           }) == arrived.end();
}

} // namespace

TEST_CASE("the switch on frames and the simulated one agree on every frame") {
    std::uint64_t dropped = 0, frames = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const Cluster cluster = draw(seed);
        CAPTURE(seed);
        CAPTURE(cluster.architecture);
        CAPTURE(cluster.packets);
        CAPTURE(cluster.port_cap);
        CAPTURE(cluster.reserve);
        CAPTURE(cluster.cut_through);
        CAPTURE(cluster.latency_ns);
        CAPTURE(cluster.leaves);
        std::uint64_t lost_simulated = 0, lost_played = 0;
        const Arrived simulated = simulate_frames(cluster, lost_simulated);
        const Arrived on_frames = play_frames(cluster, lost_played);
        CHECK(lost_simulated == lost_played);
        CHECK(simulated == on_frames);
        CHECK(keep_order(on_frames));
        dropped += lost_played;
        frames += on_frames.size();
    }
    CHECK(frames > 20'000);
    CHECK(dropped > 2'000);
}

TEST_SUITE_END();
