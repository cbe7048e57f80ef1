// Switches and their buffers: when packets are lost, where, and how fast the rest goes.
#include "simulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sonde;
using namespace sonde::simulator;
using nlohmann::json;

TEST_SUITE_BEGIN("simulator_buffers");

namespace {

// Cut-through, so that a packet has its place from its first bits on: with ideal hosts all packets
// of the windows are then in the buffer at one time.
json cut_through(const char* architecture, int packets) {
    return {{"architecture", architecture}, {"buffer_packets", packets}, {"cut_through", true}};
}

Outcome gather(const json& kind, int senders, int window, int packets) {
    const std::int64_t timeout_ns = 2000 * full_packet_ns;
    return run_scenario(
        one_switch(senders + 1, kind, go_back_n(window, timeout_ns), many_to_one(packets)));
}

double received_part(const Outcome& outcome) {
    return static_cast<double>(outcome.packets_delivered) /
           static_cast<double>(outcome.packets_created);
}

} // namespace

TEST_CASE("input-buffered: loss where the window is larger than the buffer, and only there") {
    for (const int senders : {2, 3, 7, 15}) {
        for (const int room : {5, 12, 43}) {
            for (const int window : {room - 3, room - 1, room, room + 1, room + 2, 2 * room}) {
                CAPTURE(senders);
                CAPTURE(room);
                CAPTURE(window);
                const Outcome outcome =
                    gather(cut_through("input", room), senders, window, 4 * window + 50);
                CHECK((outcome.lost_overflow > 0) == (window > room));
                CHECK(place(outcome, "switch.s0.most_packets") == std::min(window, room));
                CHECK(outcome.finished);
            }
        }
    }
}

TEST_CASE(
    "output-buffered and shared: loss where all windows together are larger than the buffer") {
    for (const char* architecture : {"output", "shared"}) {
        for (const int senders : {2, 3, 7, 15}) {
            for (const int window : {1, 3, 6, 12}) {
                for (const int more : {-2, -1, 0, 1, 2}) {
                    const int room = std::max(1, senders * window + more);
                    CAPTURE(architecture);
                    CAPTURE(senders);
                    CAPTURE(window);
                    CAPTURE(room);
                    const Outcome outcome =
                        gather(cut_through(architecture, room), senders, window, 4 * window + 50);
                    CHECK((outcome.lost_overflow > 0) == (window * senders > room));
                    CHECK(place(outcome, "switch.s0.most_packets") ==
                          std::min(window * senders, room));
                    CHECK(outcome.finished);
                }
            }
        }
    }
}

TEST_CASE("store-and-forward: the packet that is still on the line has no place yet") {
    json kind = cut_through("output", 12);
    kind["cut_through"] = false;
    CHECK(gather(kind, 3, 4, 200).lost_overflow == 0);
    kind["buffer_packets"] = 11;
    CHECK(gather(kind, 3, 4, 200).lost_overflow == 0);
    kind["buffer_packets"] = 10;
    CHECK(gather(kind, 3, 4, 200).lost_overflow > 0);
}

TEST_CASE("a shared memory with a cap behaves as the cap says, and a reserve stands beside it") {
    json kind = cut_through("shared", 100);
    kind["port_cap_packets"] = 20;
    CHECK(gather(kind, 4, 5, 200).lost_overflow == 0);
    const Outcome capped = gather(kind, 4, 6, 200);
    CHECK(capped.lost_overflow > 0);
    CHECK(place(capped, "switch.s0.most_packets") >= 20); // acknowledgements are there as well
    CHECK(place(capped, "switch.s0.most_packets") <= 24);
    kind["port_cap_packets"] = 24;
    CHECK(gather(kind, 4, 6, 200).lost_overflow == 0);
}

TEST_CASE("buffers in bytes hold more of the smaller packets") {
    const json kind{{"architecture", "output"}, {"buffer_bytes", 15'000}, {"cut_through", true}};
    CHECK(gather(kind, 5, 2, 100).lost_overflow == 0); // ten packets of 1500 bytes
    CHECK(gather(kind, 11, 1, 100).lost_overflow > 0);
    json small = one_switch(12, kind, go_back_n(1, 2000 * full_packet_ns), many_to_one(100));
    small["workload"]["payload_bytes"] = 700;
    CHECK(run_scenario(small).lost_overflow == 0);
}

TEST_CASE("head-of-line blocking: about 0.59 of the rate, output queues let nearly all through") {
    const auto throughput = [](int hosts, const json& kind) {
        const int packets = 4000;
        const Outcome outcome = run_scenario(one_switch(
            hosts, kind, {{"kind", "datagram"}}, {{"kind", "uniform"}, {"packets", packets}}));
        return static_cast<double>(outcome.packets_delivered) / hosts *
               static_cast<double>(full_packet_ns) / static_cast<double>(to_ns(outcome.elapsed));
    };
    // Karol, Hluchyj and Morgan, 1987, Table I: 0.6553 at 4 ports, 0.6184 at 8, 0.5858 in the
    // limit. A host sends nothing to itself, so that one destination less competes for each packet.
    CHECK(throughput(16, cut_through("input", 10)) == doctest::Approx(0.60).epsilon(0.03));
    CHECK(throughput(64, cut_through("input", 10)) == doctest::Approx(0.59).epsilon(0.03));
    CHECK(throughput(16, cut_through("output", 200)) > 0.96); // to the last one drained
}

TEST_CASE("a burst's received part is a line over 1/k: slope of the buffer, intercept D/A") {
    // Eq. (A.2) of the model: rho = D/A + B/k; S sources at the line's rate, one sink. What the
    // sources send in whole slots leaves the buffer one slot late.
    const auto part = [](int sources, int sinks, int packets, const char* architecture) {
        json from = json::array(), to = json::array();
        for (int i = 0; i < sources; ++i) {
            from.push_back(i);
        }
        for (int i = 0; i < sinks; ++i) {
            to.push_back(sources + i);
        }
        return received_part(run_scenario(one_switch(
            sources + sinks, cut_through(architecture, 43), {{"kind", "datagram"}},
            {{"kind", "burst"}, {"sources", from}, {"sinks", to}, {"packets", packets}})));
    };
    const auto slope = [&](int sources, int sinks, const char* architecture) {
        const double few = part(sources, sinks, 2400, architecture);
        const double many = part(sources, sinks, 24'000, architecture);
        return (few - many) / (1.0 / 2400 - 1.0 / 24'000);
    };
    CHECK(part(4, 1, 24'000, "output") == doctest::Approx(0.25 + 43.0 / 24'000).epsilon(0.01));
    CHECK(slope(4, 1, "output") == doctest::Approx(43).epsilon(0.05));
    CHECK(slope(4, 1, "input") == doctest::Approx(4 * 43).epsilon(0.05));
    CHECK(slope(4, 1, "shared") == doctest::Approx(43).epsilon(0.05));
    CHECK(slope(6, 2, "output") == doctest::Approx(2 * 43).epsilon(0.05));
    CHECK(slope(6, 2, "shared") == doctest::Approx(43).epsilon(0.05));
}

TEST_CASE("pause: nothing is lost, and it stops what goes elsewhere by the same link") {
    // Both at leaf a send up: to a slow host and to a fast one.
    json scenario =
        one_switch(1, {{"architecture", "output"}, {"buffer_packets", 30}}, {{"kind", "datagram"}},
                   {{"kind", "pairs"}, {"pairs", {{2, 0}, {3, 1}}}, {"packets", 1000}});
    scenario["link_kinds"]["slow"] = {{"rate_bit_per_s", 10'000'000}};
    scenario["switches"].push_back(
        {{"name", "a"}, {"kind", "s"}, {"parent", "s0"}, {"link", "fast"}});
    scenario["hosts"] = {{{"switch", "s0"}, {"count", 1}, {"kind", "pc"}, {"link", "slow"}},
                         {{"switch", "s0"}, {"count", 1}, {"kind", "pc"}, {"link", "fast"}},
                         {{"switch", "a"}, {"count", 2}, {"kind", "pc"}, {"link", "fast"}}};
    const Outcome dropping = run_scenario(scenario);
    CHECK(dropping.lost_overflow > 0);
    CHECK_FALSE(dropping.finished);
    scenario["switch_kinds"]["s"]["pause"] = {{"high_packets", 12}, {"low_packets", 6}};
    const Outcome pausing = run_scenario(scenario);
    CHECK(pausing.lost_overflow == 0);
    CHECK(pausing.finished);
    CHECK(place(pausing, "switch.s0.pauses") > 0);
    CHECK(place(pausing, "switch.a.pauses") > 0); // it spreads
    const std::int64_t alone_ns = 1000 * full_packet_ns;
    CHECK(to_ns(pausing.completions[1]) > 3 * alone_ns); // the fast host's packets wait as well
}

TEST_CASE("pause between input-buffered switches") {
    json kind = cut_through("input", 12);
    kind["pause"] = {{"high_packets", 8}, {"low_packets", 4}};
    const Outcome outcome =
        run_scenario(one_switch(5, kind, {{"kind", "datagram"}}, many_to_one(500)));
    CHECK(outcome.finished);
    CHECK(outcome.lost_overflow == 0);
    CHECK(place(outcome, "switch.s0.most_packets") <= 10);
}

TEST_CASE("random loss is as asked, and counted where it happens") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, {{"kind", "datagram"}},
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 40'000}});
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.1;
    const Outcome outcome = run_scenario(scenario);
    CHECK(received_part(outcome) == doctest::Approx(0.81).epsilon(0.01));
    CHECK(place(outcome, "hosts.lost_random") == doctest::Approx(4000).epsilon(0.05));
    CHECK(place(outcome, "switch.s0.lost_random") == doctest::Approx(3600).epsilon(0.05));
}

TEST_CASE("losses in bursts are as many as asked, and come together") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, {{"kind", "datagram"}},
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 40'000}});
    scenario["record"] = {{"packets", true}};
    scenario["link_kinds"]["fast"]["burst"] = {{"enter_ratio", 0.01}, {"leave_ratio", 0.2}};
    const Outcome outcome = run_scenario(scenario);
    // In the bad state 1 of 21 times, on either link.
    CHECK(place(outcome, "hosts.lost_random") == doctest::Approx(40'000 / 21.0).epsilon(0.1));
    CHECK(place(outcome, "switch.s0.lost_random") == doctest::Approx(38'095 / 21.0).epsilon(0.1));
    std::int64_t gaps = 0, lost = 0, expected = 0;
    for (const SentPacket& packet : outcome.packets_of[1]) {
        gaps += packet.sequence > expected ? 1 : 0;
        lost += packet.sequence - expected;
        expected = packet.sequence + 1;
    }
    // Five in a row on average, less those that the other link lost before.
    CHECK(static_cast<double>(lost) / static_cast<double>(gaps) ==
          doctest::Approx(5.0).epsilon(0.1));
}

TEST_CASE("datagrams are done when they have arrived: no line carries more than it can") {
    const auto busiest = [](const Outcome& outcome) {
        std::uint64_t most = 0;
        for (const HostCounts& counts : outcome.counts) {
            most = std::max(most, counts.packets_received);
        }
        return static_cast<double>(most) * static_cast<double>(full_packet_ns) /
               static_cast<double>(to_ns(outcome.elapsed));
    };
    const json output{{"architecture", "output"}};
    json scenario =
        one_switch(8, output, {{"kind", "datagram"}}, {{"kind", "uniform"}, {"packets", 300}});
    scenario["host_kinds"]["pc"]["transmit_ring_packets"] = 4000; // all is handed over at once
    const Outcome uniform = run_scenario(scenario);
    CHECK(to_ns(uniform.elapsed) > 300 * full_packet_ns);
    CHECK(busiest(uniform) <= 1.0);
    CHECK(busiest(uniform) > 0.9);
    scenario["workload"] = {{"kind", "burst"},
                            {"sources", {0, 1, 2, 3}},
                            {"sinks", {4}},
                            {"packets", 400},
                            {"payload_bytes", 1492}};
    const Outcome burst = run_scenario(scenario);
    CHECK(busiest(burst) <= 1.0);
    CHECK(busiest(burst) > 0.99);
    CHECK(burst.completions[0] == 0); // it only sent
}

TEST_CASE("the queue that was asked for starts and ends empty, and stays within its buffer") {
    for (const char* architecture : {"input", "output", "shared"}) {
        json scenario = one_switch(4, cut_through(architecture, 8), go_back_n(9, 300'000'000),
                                   many_to_one(300));
        const int port = std::string(architecture) == "input" ? 2 : 0;
        scenario["record"] = {{"queues", {{{"switch", "s0"}, {"port", {{"host", port}}}}}}};
        const Outcome outcome = run_scenario(scenario);
        REQUIRE(outcome.queues.size() == 1);
        const QueueSeries& queue = outcome.queues.front();
        CHECK(std::is_sorted(queue.at_ns.begin(), queue.at_ns.end()));
        CHECK(*std::min_element(queue.packets.begin(), queue.packets.end()) == 0);
        CHECK(*std::max_element(queue.packets.begin(), queue.packets.end()) == 8);
        CHECK(queue.packets.back() == 0);
        CHECK(queue.packets.size() > 600);
    }
}

TEST_CASE("unfair service starves inputs, fair service does not") {
    const auto spread = [](bool fair) {
        json kind = cut_through("input", 100);
        kind["service"] = fair ? "fair" : "fixed";
        const Outcome outcome =
            run_scenario(one_switch(4, kind, go_back_n(20, 100'000'000'000), many_to_one(2000)));
        const auto [first, last] =
            std::minmax_element(outcome.completions.begin() + 1, outcome.completions.end());
        return static_cast<double>(*last) / static_cast<double>(*first);
    };
    CHECK(spread(true) < 1.05);
    CHECK(spread(false) > 1.4);
}

TEST_CASE("a fast input is not held up by a slow output that is free") {
    // Ten hosts on one switch send through a fast uplink to ten others: no head of line may block.
    json scenario = one_switch(5, cut_through("input", 200), {{"kind", "datagram"}},
                               {{"kind", "pairs"},
                                {"pairs", {{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9}}},
                                {"packets", 2000}});
    scenario["link_kinds"]["up"] = {{"rate_bit_per_s", 1'000'000'000}};
    scenario["switches"].push_back(
        {{"name", "a"}, {"kind", "s"}, {"parent", "s0"}, {"link", "up"}});
    scenario["hosts"].push_back({{"switch", "a"}, {"count", 5}, {"kind", "pc"}, {"link", "fast"}});
    const Outcome outcome = run_scenario(scenario);
    CHECK(outcome.lost_overflow == 0);
    CHECK(to_ns(outcome.elapsed) < 2005 * full_packet_ns);
}
