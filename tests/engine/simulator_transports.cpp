// Transports: what is delivered in spite of loss, and how fast.
#include "simulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

using namespace sonde;
using namespace sonde::simulator;
using nlohmann::json;

TEST_SUITE_BEGIN("simulator_transports");

namespace {

json tcp() { return {{"kind", "tcp"}}; }

double efficiency(const Outcome& outcome, int senders, int packets) {
    return static_cast<double>(senders) * packets * static_cast<double>(full_packet_ns) /
           static_cast<double>(to_ns(outcome.elapsed));
}

std::uint64_t sum(const Outcome& outcome, std::uint64_t HostCounts::*what) {
    std::uint64_t total = 0;
    for (const HostCounts& counts : outcome.counts) {
        total += counts.*what;
    }
    return total;
}

json choose_transport(std::mt19937_64& random) {
    const auto below = [&](int most) {
        return static_cast<int>(random() % static_cast<unsigned>(most));
    };
    if (below(3) == 0) {
        json transport = tcp();
        transport["minimum_timeout_ns"] = 5'000'000;
        transport["selective"] = below(2) == 0;
        transport["delayed_acknowledgement_ns"] = below(2) * 3'000'000;
        transport["receive_window_packets"] = 1 + below(64);
        if (below(3) == 0) {
            transport["global_window_packets"] = 1 + below(10);
        }
        return transport;
    }
    json transport = go_back_n(1 + below(40), 20'000'000);
    static const std::array ways{"immediate", "delayed", "piggyback"};
    transport["acknowledge"] = ways[static_cast<std::size_t>(below(3))];
    if (transport["acknowledge"] != "immediate") {
        transport["delay_packets"] = 1 + below(transport["window_packets"].get<int>());
        transport["delay_ns"] = 1'000'000;
    }
    transport["fast_retransmit"] = below(3) > 0;
    if (below(3) == 0) {
        transport["global_window_packets"] = 1 + below(10);
    }
    return transport;
}

json choose_workload(std::mt19937_64& random, int hosts) {
    const auto rank = [&] { return static_cast<int>(random() % static_cast<unsigned>(hosts)); };
    if (random() % 3 == 0) {
        return many_to_one(60);
    }
    json messages = json::array();
    for (int i = 0; i < 40; ++i) {
        const int source = rank();
        const int target =
            (source + 1 + static_cast<int>(random() % static_cast<unsigned>(hosts - 1))) % hosts;
        messages.push_back({i / 4 * 700'000, source, target, 1 + random() % 20'000});
    }
    return {{"kind", "trace"}, {"messages", messages}};
}

} // namespace

TEST_CASE("everything arrives once and in order, whatever is lost on the way") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 150; ++round) {
        CAPTURE(round);
        const int hosts = 2 + static_cast<int>(random() % 6);
        static const std::array architectures{"input", "output", "shared"};
        json scenario = one_switch(hosts,
                                   {{"architecture", architectures[random() % 3]},
                                    {"buffer_packets", 3 + random() % 20},
                                    {"cut_through", random() % 2 == 0}},
                                   choose_transport(random), choose_workload(random, hosts));
        scenario["seed"] = round;
        scenario["limits"] = {{"events", 20'000'000}}; // what never ends is a failure
        scenario["link_kinds"]["fast"]["loss_ratio"] = random() % 2 == 0 ? 0.0 : 0.05;
        scenario["host_kinds"]["pc"] = {
            {"send_overhead", {{"base_ns", random() % 20'000}}},
            {"receive_overhead", {{"base_ns", random() % 20'000}}},
            // Without chance, two hosts with equal timers can step on each other for ever.
            {"jitter", {{"distribution", "exponential"}, {"mean_ns", 1000}}},
            {"receive_pool_packets", 4 + random() % 60},
            {"transmit_ring_packets", 1 + random() % 20}};
        CAPTURE(scenario.dump());
        const Outcome outcome = run_scenario(scenario); // which asserts order and conservation
        CHECK(outcome.finished);
        CHECK(sum(outcome, &HostCounts::packets_sent) ==
              sum(outcome, &HostCounts::packets_received));
        CHECK(sum(outcome, &HostCounts::bytes_sent) == sum(outcome, &HostCounts::bytes_received));
        CHECK(sum(outcome, &HostCounts::messages_sent) ==
              sum(outcome, &HostCounts::messages_received));
    }
}

TEST_CASE("without loss a window that fills the path is as fast as the line") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(8, 100'000'000),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 5000}});
    CHECK(efficiency(run_scenario(scenario), 1, 5000) > 0.999);
    scenario["transport"]["window_packets"] = 1; // a round trip each
    CHECK(efficiency(run_scenario(scenario), 1, 5000) < 0.5);
    scenario["transport"] = tcp();
    scenario["transport"]["delayed_acknowledgement_ns"] = 0; // the last one would be 40 ms late
    CHECK(efficiency(run_scenario(scenario), 1, 5000) > 0.97);
}

TEST_CASE("Go-Back-N: one Nack for each gap, and what follows it is sent again") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(10, 100'000'000),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 20'000}});
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.002;
    scenario["record"] = {{"events", true}};
    const Outcome outcome = run_scenario(scenario);
    const HostCounts& sender = outcome.counts[0];
    const HostCounts& receiver = outcome.counts[1];
    CHECK(receiver.nacks > 50);
    CHECK(receiver.nacks <= outcome.lost_random);
    CHECK(sender.fast_retransmits <= receiver.nacks);
    CHECK(receiver.out_of_order > 5 * receiver.nacks); // dropped in silence, and sent again
    CHECK(sender.retransmitted >= receiver.out_of_order);
    // The events are those that the sender had, in order.
    REQUIRE(outcome.events_of[0].size() == 1);
    std::array<std::int64_t, 3> counts{};
    VirtualTime last = 0;
    for (const protocol::EventRun& run : outcome.events_of[0][0].log.runs()) {
        counts[static_cast<std::size_t>(run.event)] += run.count;
        CHECK(run.at >= last);
        last = run.at;
    }
    CHECK(counts[1] == static_cast<std::int64_t>(sender.fast_retransmits));
    CHECK(counts[2] <=
          static_cast<std::int64_t>(sender.time_outs)); // packets that ran out together
    CHECK(counts[0] > 15'000);
}

TEST_CASE("simple Go-Back-N sends no Nack and recovers by time-outs alone") {
    json scenario = one_switch(8, {{"architecture", "output"}, {"buffer_packets", 95}},
                               go_back_n(24, 400 * full_packet_ns), many_to_one(2000));
    scenario["host_kinds"]["pc"] = {
        {"jitter", {{"distribution", "exponential"}, {"mean_ns", 1000}}}};
    const double with_nacks = efficiency(run_scenario(scenario), 7, 2000);
    scenario["transport"]["fast_retransmit"] = false;
    const Outcome simple = run_scenario(scenario);
    CHECK(sum(simple, &HostCounts::nacks) == 0);
    CHECK(sum(simple, &HostCounts::time_outs) > 0);
    CHECK(efficiency(simple, 7, 2000) < with_nacks);
}

TEST_CASE("simple Go-Back-N recovers from each loss by one time-out") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(20, 5'000'000),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 40'000}});
    scenario["transport"]["fast_retransmit"] = false;
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.00008;
    const Outcome outcome = run_scenario(scenario);
    CHECK(outcome.finished);
    REQUIRE(outcome.lost_random > 3);
    CHECK(outcome.lost_random < 30);
    const double without_loss_ms = 40'000 * static_cast<double>(full_packet_ns) * 1e-6;
    const double each_ms = 5.0 + 20 * static_cast<double>(full_packet_ns) * 1e-6;
    CHECK(static_cast<double>(to_ns(outcome.elapsed)) * 1e-6 <
          without_loss_ms + static_cast<double>(outcome.lost_random) * each_ms + 1.0);
}

TEST_CASE("packets that time out together are so many time-outs, and one event") {
    // Whoever sends sees nothing of the receiver, whose pool is full: a window is lost at once.
    json scenario = one_switch(2, {{"architecture", "output"}}, go_back_n(8, 50'000'000),
                               {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 8}});
    scenario["link_kinds"]["fast"]["burst"] = {
        {"enter_ratio", 1.0}, {"leave_ratio", 0.1}, {"bad_loss_ratio", 1.0}};
    scenario["record"] = {{"events", true}};
    scenario["seed"] = 3;
    const Outcome outcome = run_scenario(scenario);
    CHECK(outcome.finished);
    std::int64_t events = 0;
    for (const protocol::EventRun& run : outcome.events_of[0][0].log.runs()) {
        events += run.event == protocol::Event::time_out ? run.count : 0;
    }
    CHECK(events > 0);
    CHECK(static_cast<std::int64_t>(outcome.counts[0].time_outs) > 3 * events);
}

TEST_CASE("a host that learns of its timers late sends again by so much later") {
    constexpr std::int64_t late_ns = 70'000;
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(1, 5'000'000),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 50}});
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.1;
    const Outcome prompt = run_scenario(scenario);
    scenario["host_kinds"]["pc"]["timer_late_ns"] = late_ns;
    const Outcome late = run_scenario(scenario);
    REQUIRE(prompt.counts[0].time_outs > 5);
    CHECK(late.counts[0].time_outs == prompt.counts[0].time_outs);
    CHECK(to_ns(late.elapsed - prompt.elapsed) ==
          late_ns * static_cast<std::int64_t>(prompt.counts[0].time_outs));
}

TEST_CASE("each change of a sender's state is recorded") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(10, 100'000'000),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 5000}});
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.002;
    scenario["record"] = {{"events", true}};
    const Outcome outcome = run_scenario(scenario);
    const protocol::Log& log = outcome.events_of[0][0].log;
    REQUIRE(log.moves().size() > 10);
    protocol::State state = protocol::State::normal;
    VirtualTime last = 0;
    for (const protocol::Move& move : log.moves()) {
        CHECK(move.from == state);
        CHECK(move.to != state);
        CHECK(move.at >= last);
        state = move.to;
        last = move.at;
    }
    CHECK(state == protocol::State::normal);
}

TEST_CASE("input-buffered switches stay below one half once they overflow") {
    const auto gather = [](int window) {
        return efficiency(
            run_scenario(one_switch(
                8, {{"architecture", "input"}, {"buffer_packets", 43}, {"cut_through", true}},
                go_back_n(window, 900 * full_packet_ns), many_to_one(3000))),
            7, 3000);
    };
    CHECK(gather(43) > 0.99);
    CHECK(gather(48) < 0.5);
    CHECK(gather(48) > 0.3);
    CHECK(gather(80) < gather(48));
}

TEST_CASE("a time-out below the time through a full buffer is false, and costs throughput") {
    const auto gather = [](int slots) {
        return run_scenario(one_switch(16, {{"architecture", "output"}, {"buffer_packets", 95}},
                                       go_back_n(6, slots * full_packet_ns), many_to_one(1000)));
    };
    const Outcome good = gather(400);
    CHECK(good.lost_overflow == 0);
    CHECK(sum(good, &HostCounts::time_outs) == 0);
    const Outcome early = gather(40);
    CHECK(sum(early, &HostCounts::time_outs) > 0);
    CHECK(sum(early, &HostCounts::packets_received) == 15'000);
    CHECK(efficiency(early, 15, 1000) < 0.8);
}

TEST_CASE("ways to acknowledge: fewer packets for the same data") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, go_back_n(16, 100'000'000),
                   {{"kind", "two_way"}, {"source", 0}, {"target", 1}, {"packets", 2000}});
    const auto acknowledgements = [&](const char* way) {
        scenario["transport"]["acknowledge"] = way;
        if (std::string(way) != "immediate") {
            scenario["transport"]["delay_packets"] = 4;
            scenario["transport"]["delay_ns"] = 10'000'000;
        }
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.finished);
        return sum(outcome, &HostCounts::acknowledgements);
    };
    CHECK(acknowledgements("immediate") == 4000);
    const std::uint64_t delayed = acknowledgements("delayed");
    CHECK(delayed == doctest::Approx(1000).epsilon(0.05));
    CHECK(acknowledgements("piggyback") < delayed); // windows are sent in one go: not all can
}

TEST_CASE("a global window bounds what is under way to all partners together") {
    json messages = json::array();
    for (int target = 1; target < 6; ++target) {
        messages.push_back({0, 0, target, 100 * 1492});
    }
    json scenario = one_switch(6, {{"architecture", "output"}}, go_back_n(16, 100'000'000),
                               {{"kind", "trace"}, {"messages", messages}});
    scenario["transport"]["global_window_packets"] = 1;
    const Outcome one = run_scenario(scenario);
    CHECK(efficiency(one, 5, 100) < 0.5); // a round trip for each packet, whoever it is for
    scenario["transport"]["global_window_packets"] = 8;
    CHECK(efficiency(run_scenario(scenario), 5, 100) > 0.97);
}

TEST_CASE("TCP: losses are repaired without waiting where there is enough to tell them by") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, tcp(),
                   {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 20'000}});
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.0005;
    const Outcome outcome = run_scenario(scenario);
    CHECK(outcome.finished);
    const HostCounts& sender = outcome.counts[0];
    CHECK(sender.fast_retransmits > 5);
    CHECK(sender.time_outs <= 2);
    CHECK(sender.retransmitted < 3 * outcome.lost_random);
}

TEST_CASE("TCP: incast collapses to the least time-out, and a shorter one mends it") {
    // Many short answers at once overflow a small buffer: whole windows are lost.
    json scenario = one_switch(33, {{"architecture", "output"}, {"buffer_packets", 40}}, tcp(),
                               many_to_one(10));
    const auto elapsed_ms = [&](std::int64_t least_ns) {
        scenario["transport"]["minimum_timeout_ns"] = least_ns;
        return static_cast<double>(to_ns(run_scenario(scenario).elapsed)) * 1e-6;
    };
    const double wire_ms = 32 * 10 * static_cast<double>(full_packet_ns) * 1e-6;
    CHECK(elapsed_ms(200'000'000) > 200.0);
    CHECK(elapsed_ms(200'000'000) > 4 * wire_ms);
}

TEST_CASE("the same seed gives the same run, another seed another one") {
    json scenario = one_switch(9, {{"architecture", "output"}, {"buffer_packets", 30}},
                               go_back_n(12, 50'000'000), many_to_one(500));
    scenario["host_kinds"]["pc"] = {
        {"jitter", {{"distribution", "exponential"}, {"mean_ns", 5000}}}};
    scenario["link_kinds"]["fast"]["loss_ratio"] = 0.001;
    const Outcome first = run_scenario(scenario);
    const Outcome again = run_scenario(scenario);
    CHECK(first.completions == again.completions);
    CHECK(first.events == again.events);
    CHECK(first.lost_overflow == again.lost_overflow);
    scenario["seed"] = 2;
    CHECK(run_scenario(scenario).completions != first.completions);
}

TEST_CASE("gather on an output-buffered switch: within 0.10 of each measured row of Table 4.1") {
    struct Row {
        int senders, window, slots;
        double measured;
    };
    // A. Tam, 2001, Table 4.1, IBM 8275-416: 95 packets a port. 30,000 packets a sender there.
    static const std::array<Row, 18> rows{{{7, 18, 400, 0.8375},
                                           {7, 24, 400, 0.7846},
                                           {7, 36, 400, 0.6971},
                                           {11, 18, 400, 0.7345},
                                           {11, 24, 400, 0.6947},
                                           {11, 36, 400, 0.6380},
                                           {15, 18, 400, 0.6309},
                                           {15, 24, 400, 0.5975},
                                           {15, 36, 400, 0.5596},
                                           {7, 18, 1600, 0.8929},
                                           {7, 24, 1600, 0.8822},
                                           {7, 36, 1600, 0.8027},
                                           {11, 18, 1600, 0.8366},
                                           {11, 24, 1600, 0.8222},
                                           {11, 36, 1600, 0.7516},
                                           {15, 18, 1600, 0.7976},
                                           {15, 24, 1600, 0.7785},
                                           {15, 36, 1600, 0.6877}}};
    constexpr int packets = 8000;
    for (const Row& row : rows) {
        json scenario =
            one_switch(row.senders + 1,
                       {{"architecture", "output"}, {"buffer_packets", 95}, {"latency_ns", 10'000}},
                       go_back_n(row.window, row.slots * full_packet_ns), many_to_one(packets));
        scenario["host_kinds"]["pc"] = {
            // overheads of its Table 5.2
            {"send_overhead", {{"base_ns", 12'500}}},
            {"receive_overhead", {{"base_ns", 20'000}}},
            {"user_receive_overhead", {{"base_ns", 7'000}}},
            {"jitter", {{"distribution", "exponential"}, {"mean_ns", 1'000}}}};
        const double simulated = efficiency(run_scenario(scenario), row.senders, packets);
        CAPTURE(row.senders);
        CAPTURE(row.window);
        CAPTURE(row.slots);
        CHECK(std::abs(simulated - row.measured) < 0.10);
    }
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("simulator_transports_soak");

TEST_CASE("ten million packets over Go-Back-N with each kind of loss") {
    // The run itself ends with an error where a packet is delivered twice, or not in its turn.
    constexpr int senders = 5, packets = 2'000'000;
    for (const char* loss : {"random", "bursts", "drop-tail"}) {
        CAPTURE(loss);
        const int room = std::string(loss) == "drop-tail" ? 40 : 1000;
        json scenario =
            one_switch(senders + 1, {{"architecture", "output"}, {"buffer_packets", room}},
                       go_back_n(12, 400 * full_packet_ns), many_to_one(packets));
        json& link = scenario["link_kinds"]["fast"];
        if (std::string(loss) == "random") {
            link["loss_ratio"] = 0.001;
        } else if (std::string(loss) == "bursts") {
            link["burst"] = {{"enter_ratio", 0.0002}, {"leave_ratio", 0.2}};
        }
        scenario["host_kinds"]["pc"] = {
            {"jitter", {{"distribution", "exponential"}, {"mean_ns", 1000}}}};
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.finished);
        CHECK(sum(outcome, &HostCounts::packets_received) == std::uint64_t{senders} * packets);
        CHECK(outcome.lost_random + outcome.lost_overflow > 1000);
    }
}

TEST_SUITE_END();
