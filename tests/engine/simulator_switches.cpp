// What single parts of switches and hosts do: stages, readiness, reserves, control packets first,
// a second CPU, and what never ends.
#include <doctest/doctest.h>

#include "core/failure.hpp"
#include "simulator.hpp"

TEST_SUITE_BEGIN("simulator_switches");

namespace sonde::simulator {

using nlohmann::json;

namespace {

json datagrams() { return {{"kind", "datagram"}}; }

double slots(const Outcome& outcome) {
    return static_cast<double>(to_ns(outcome.elapsed)) / static_cast<double>(full_packet_ns);
}

// Adds a switch below the first one, with hosts of its own.
void add_leaf(json& scenario, const char* kind, json uplink, int hosts) {
    scenario["link_kinds"]["up"] = std::move(uplink);
    scenario["switches"].push_back(
        {{"name", "a"}, {"kind", kind}, {"parent", "s0"}, {"link", "up"}});
    scenario["hosts"].push_back(
        {{"switch", "a"}, {"count", hosts}, {"kind", "pc"}, {"link", "fast"}});
}

} // namespace

TEST_CASE("a stage at the outputs lets packets pass those that wait for a busy line") {
    const auto part_delivered = [](int stage) {
        json kind{{"architecture", "input"}, {"buffer_packets", 10}, {"cut_through", true}};
        kind["output_stage_packets"] = stage;
        const Outcome outcome = run_scenario(
            one_switch(16, kind, datagrams(), {{"kind", "uniform"}, {"packets", 4000}}));
        return 1.0 - static_cast<double>(outcome.lost_overflow) / (16.0 * 4000.0);
    };
    const double without = part_delivered(0);
    const double one = part_delivered(1);
    const double four = part_delivered(4);
    CHECK(without < 0.64);
    CHECK(one > without + 0.07);
    CHECK(four > one + 0.05);
    CHECK(four < 1.0);
}

TEST_CASE("with a stage, windows up to the buffer lose nothing and larger ones do") {
    for (const int stage : {1, 4}) {
        for (const int room : {10, 43}) {
            json kind{{"architecture", "input"}, {"buffer_packets", room}, {"cut_through", true}};
            kind["output_stage_packets"] = stage;
            for (const int beyond : {0, 1}) {
                const Outcome outcome = run_scenario(one_switch(
                    9, kind, go_back_n(room + beyond, 200'000'000), many_to_one(6 * room)));
                CHECK((outcome.lost_overflow > 0) == (beyond > 0));
            }
        }
    }
}

TEST_CASE("a line is free for others until the packet that comes next is ready") {
    // Ten flows, five each way, over an uplink that carries eleven. A cut-through switch knows of a
    // packet from a slow line long before it can send it to a fast one.
    for (const char* architecture : {"output", "input"}) {
        json kind{{"architecture", architecture}, {"buffer_packets", 50}, {"cut_through", true}};
        json scenario = one_switch(5, kind, datagrams(),
                                   {{"kind", "pairs"},
                                    {"pairs", {{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9}}},
                                    {"both_ways", true},
                                    {"packets", 2000}});
        add_leaf(scenario, "s",
                 {{"rate_bit_per_s", 1'000'000'000}, {"both_ways_bit_per_s", 1'100'000'000}}, 5);
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.lost_overflow == 0);
        CHECK(slots(outcome) < 2010);
    }
}

TEST_CASE("control packets first: acknowledgements overtake the data of others") {
    const auto first_is_done = [](bool control_first) {
        const json kind{
            {"architecture", "output"}, {"buffer_packets", 100}, {"control_first", control_first}};
        const Outcome outcome = run_scenario(
            one_switch(4, kind, go_back_n(20, 10'000'000'000),
                       {{"kind", "pairs"}, {"pairs", {{1, 0}, {2, 1}, {3, 1}}}, {"packets", 500}}));
        CHECK(outcome.lost_overflow == 0);
        return static_cast<double>(outcome.completions.front());
    };
    CHECK(first_is_done(true) < 0.8 * first_is_done(false));
}

TEST_CASE("the uplink of a shared switch has places of its own beside the common ones") {
    for (const int reserve : {0, 10}) {
        json scenario = one_switch(1, {{"architecture", "output"}}, datagrams(),
                                   {{"kind", "many_to_one"}, {"target", 0}, {"packets", 20}});
        scenario["switch_kinds"]["leaf"] = {{"architecture", "shared"}, {"buffer_packets", 20}};
        if (reserve > 0) {
            scenario["switch_kinds"]["leaf"]["uplink_buffer_packets"] = reserve;
        }
        add_leaf(scenario, "leaf", {{"rate_bit_per_s", 100'000}},
                 4); // all come before one has left
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.lost_overflow == 4 * 20 - 20 - reserve);
    }
}

TEST_CASE("another CPU receives while the process takes") {
    const auto per_packet_us = [](const char* processor) {
        json scenario =
            one_switch(2, {{"architecture", "output"}}, datagrams(),
                       {{"kind", "one_way"}, {"source", 0}, {"target", 1}, {"packets", 1000}});
        scenario["host_kinds"]["pc"] = {{"receive_overhead", {{"base_ns", 200'000}}},
                                        {"user_receive_overhead", {{"base_ns", 150'000}}},
                                        {"receive_processor", processor}};
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.finished);
        return static_cast<double>(to_ns(outcome.elapsed)) / 1e6;
    };
    CHECK(per_packet_us("same") == doctest::Approx(350).epsilon(0.01));
    CHECK(per_packet_us("other") == doctest::Approx(200).epsilon(0.01));
}

TEST_CASE("senders that meet in the same full buffer for ever are told so") {
    json scenario = one_switch(3, {{"architecture", "shared"}, {"buffer_packets", 1}},
                               go_back_n(3, 2'000'000), many_to_one(50));
    scenario["link_kinds"]["fast"]["propagation_ns"] = 11'400;
    CHECK_THROWS_WITH_AS(run_scenario(scenario),
                         doctest::Contains("meet in the same full buffer for ever"), Failure);
}

TEST_CASE("a window that counts arrivals is for exchanges in which all receive what they send") {
    json transport = go_back_n(8, 100'000'000);
    transport["global_window_packets"] = 3;
    transport["global_window_counts"] = "received";
    const json kind{{"architecture", "output"}, {"buffer_packets", 95}};
    json exchange{
        {"kind", "schedule"}, {"algorithm", "alltoall/synchronous-shuffle"}, {"block_packets", 8}};
    CHECK(run_scenario(one_switch(6, kind, transport, exchange)).finished);
    exchange["algorithm"] = "broadcast/linear";
    for (const json& other : {exchange, many_to_one(10)}) {
        CHECK_THROWS_WITH_AS(run_scenario(one_switch(6, kind, transport, other)),
                             doctest::Contains("alltoall with equal blocks"), Failure);
    }
    transport["global_window_counts"] = "sent";
    CHECK_THROWS_WITH_AS(run_scenario(one_switch(6, kind, transport, many_to_one(10))),
                         doctest::Contains("expected acknowledged or received"), Failure);
}

} // namespace sonde::simulator

TEST_SUITE_END();
