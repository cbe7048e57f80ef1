// The simulator's parts that stand for themselves: its event queue and its network.
#include "simulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "simulator/event_queue.hpp"

using namespace sonde;
using namespace sonde::simulator;
using nlohmann::json;

TEST_SUITE_BEGIN("simulator");

TEST_CASE("events happen in order of time, and of asking where they are at one time") {
    std::mt19937_64 random(3);
    for (const std::int64_t spread : {3LL, 1'000LL, 1'000'000'000'000LL}) {
        EventQueue queue;
        std::vector<std::tuple<VirtualTime, std::uint32_t>> asked, seen;
        std::uint32_t number = 0;
        Event event;
        for (int step = 0; step < 20'000; ++step) {
            if (random() % 3 != 0 || step < 100) {
                const auto later = static_cast<std::int64_t>(random()) & INT64_MAX;
                const auto at = queue.now() + later % spread;
                asked.emplace_back(at, number);
                queue.push(at, EventKind::begin, 5, number++);
            } else if (queue.pop(event)) {
                CHECK(event.at == queue.now());
                seen.emplace_back(event.at, event.item());
            }
        }
        while (queue.pop(event)) {
            seen.emplace_back(event.at, event.item());
        }
        std::sort(asked.begin(), asked.end());
        CHECK(seen == asked);
        CHECK(queue.size() == 0);
        CHECK(event.kind() == EventKind::begin);
        CHECK(event.place() == 5);
    }
}

TEST_CASE("time never runs back") {
    EventQueue queue;
    queue.push(10, EventKind::begin, 0);
    Event event;
    REQUIRE(queue.pop(event));
    CHECK_THROWS_AS(queue.push(9, EventKind::begin, 0), std::logic_error);
}

TEST_CASE("an idle path takes the times of its parts") {
    const json one_way{{"kind", "one_way"}, {"source", 1}, {"target", 0}, {"packets", 1}};
    json scenario = one_switch(2, {{"architecture", "output"}, {"latency_ns", 5'000}},
                               {{"kind", "datagram"}}, one_way);
    scenario["link_kinds"]["fast"]["propagation_ns"] = 700;
    scenario["host_kinds"]["pc"] = {{"send_overhead", {{"base_ns", 3'000}, {"per_byte_ns", 1.0}}},
                                    {"receive_overhead", {{"base_ns", 2'000}}},
                                    {"user_receive_overhead", {{"base_ns", 1'000}}}};
    const std::int64_t hosts_ns = 3'000 + 1'500 + 2'000 + 1'000;
    const std::int64_t ways_ns = 2 * 700 + 5'000;
    CHECK(to_ns(run_scenario(scenario).elapsed) == hosts_ns + ways_ns + 2 * full_packet_ns);
    scenario["switch_kinds"]["s"]["cut_through"] = true; // waits for 22 bytes only
    CHECK(to_ns(run_scenario(scenario).elapsed) == hosts_ns + ways_ns + full_packet_ns + 1'760);
}

TEST_CASE("a cut-through switch does not outrun a slow input") {
    const json one_way{{"kind", "one_way"}, {"source", 1}, {"target", 0}, {"packets", 1}};
    json scenario = one_switch(1, {{"architecture", "output"}, {"cut_through", true}},
                               {{"kind", "datagram"}}, one_way);
    scenario["link_kinds"]["slow"] = {{"rate_bit_per_s", 10'000'000}};
    scenario["hosts"].push_back({{"switch", "s0"}, {"count", 1}, {"kind", "pc"}, {"link", "slow"}});
    CHECK(to_ns(run_scenario(scenario).elapsed) == 10 * full_packet_ns);
}

TEST_CASE("a packet's way through a tree is the shortest") {
    const json one_way{{"kind", "one_way"}, {"source", 0}, {"target", 3}, {"packets", 1}};
    json scenario = one_switch(1, {{"architecture", "shared"}}, {{"kind", "datagram"}}, one_way);
    const auto below = [](const char* name, const char* parent) {
        return json{{"name", name}, {"kind", "s"}, {"parent", parent}, {"link", "fast"}};
    };
    const auto host_at = [](const char* name) {
        return json{{"switch", name}, {"count", 1}, {"kind", "pc"}, {"link", "fast"}};
    };
    scenario["switches"].push_back(below("a", "s0"));
    scenario["switches"].push_back(below("b", "s0"));
    scenario["switches"].push_back(below("c", "a"));
    scenario["hosts"] = {host_at("c"), host_at("b"), host_at("a"), host_at("c"), host_at("s0")};
    const auto hops = [&](int source, int target) {
        scenario["workload"]["source"] = source;
        scenario["workload"]["target"] = target;
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.finished);
        return outcome.packet_hops;
    };
    CHECK(hops(0, 3) == 2); // both at c
    CHECK(hops(0, 2) == 3); // c, a
    CHECK(hops(0, 4) == 4); // c, a, s0
    CHECK(hops(3, 1) == 5); // c, a, s0, b
    CHECK(hops(1, 3) == 5);
}

TEST_CASE("what both ways of a link may carry together is shared") {
    json scenario =
        one_switch(2, {{"architecture", "output"}}, {{"kind", "datagram"}},
                   {{"kind", "two_way"}, {"source", 0}, {"target", 1}, {"packets", 1000}});
    const auto whole = run_scenario(scenario).elapsed;
    scenario["link_kinds"]["fast"]["both_ways_bit_per_s"] = 100'000'000;
    const auto shared = run_scenario(scenario).elapsed;
    CHECK(static_cast<double>(shared) / static_cast<double>(whole) ==
          doctest::Approx(2.0).epsilon(0.01));
}

TEST_CASE("the least gap of a card and its pool") {
    json scenario =
        one_switch(3, {{"architecture", "output"}}, {{"kind", "datagram"}},
                   {{"kind", "one_way"}, {"source", 1}, {"target", 0}, {"packets", 1000}});
    scenario["host_kinds"]["pc"] = {{"send_gap", {{"base_ns", 200'000}}}};
    CHECK(to_ns(run_scenario(scenario).elapsed) == 999 * 200'000 + 2 * full_packet_ns);
    // Packets that come faster than they are received fill the pool, and beyond it are lost.
    scenario["host_kinds"]["pc"] = {{"receive_overhead", {{"base_ns", 2 * full_packet_ns}}},
                                    {"receive_pool_packets", 10}};
    const Outcome outcome = run_scenario(scenario);
    CHECK(outcome.lost_receive_pool == doctest::Approx(495).epsilon(0.02));
    CHECK(outcome.lost_at[0] == outcome.lost_receive_pool);
    CHECK_FALSE(outcome.finished);
}

TEST_CASE("coalescing: fewer interrupts cost less, and later") {
    const json stream{{"kind", "one_way"}, {"source", 1}, {"target", 0}, {"packets", 1000}};
    json scenario = one_switch(2, {{"architecture", "output"}}, {{"kind", "datagram"}}, stream);
    const auto elapsed = [&](const json& coalescing) {
        json& pc = scenario["host_kinds"]["pc"];
        pc = {{"receive_overhead", {{"base_ns", 20'000}}}, {"coalescing", coalescing}};
        pc["coalescing"]["interrupt_ns"] = 150'000; // longer than a packet
        return to_ns(run_scenario(scenario).elapsed);
    };
    const std::int64_t each = elapsed({{"policy", "packet"}});
    const std::int64_t by_count =
        elapsed({{"policy", "count"}, {"packets", 8}, {"time_ns", 2'000'000}});
    const std::int64_t by_time = elapsed({{"policy", "time"}, {"time_ns", 1'000'000}});
    CHECK(each > 1000 * 170'000);
    CHECK(by_count < 1000 * full_packet_ns + 3'000'000);
    CHECK(by_time < 1000 * full_packet_ns + 3'000'000);
    scenario["workload"]["packets"] = 1; // alone, a packet waits for company
    const std::int64_t at_once = elapsed({{"policy", "packet"}});
    CHECK(elapsed({{"policy", "time"}, {"time_ns", 1'000'000}}) == at_once + 1'000'000);
    CHECK(elapsed({{"policy", "count"}, {"packets", 8}, {"time_ns", 2'000'000}}) ==
          at_once + 2'000'000);
    CHECK(elapsed({{"policy", "adaptive"}, {"packets", 8}, {"time_ns", 500'000}}) == at_once);
}
