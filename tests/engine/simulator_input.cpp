// What the simulator reads: the example, and what is refused with a reason.
#include "simulator.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <random>

#include "core/failure.hpp"

using namespace sonde;
using namespace sonde::simulator;
using nlohmann::json;

TEST_SUITE_BEGIN("simulator_input");

namespace {

json example() {
    std::ifstream file(SONDE_EXAMPLES "/simulation.json");
    return json::parse(file);
}

// "accepted", or the sentence with which it is refused.
std::string answer(const json& scenario) {
    try {
        (void)run_scenario(scenario);
    } catch (const Failure& failure) {
        CHECK((failure.code() == "bad_request" || failure.code() == "limit"));
        return failure.what();
    }
    return "accepted";
}

void refused(const std::function<void(json&)>& change, const std::string& words) {
    json scenario = example();
    scenario["workload"]["packets"] = 5;
    change(scenario);
    const std::string said = answer(scenario);
    CAPTURE(said);
    CHECK(said.find(words) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.size() < 1500);
}

} // namespace

TEST_CASE("the example runs") {
    const Outcome outcome = run_scenario(example());
    CHECK(outcome.finished);
    CHECK(outcome.counts[15].packets_received == 15 * 500);
    CHECK(outcome.queues.size() == 1);
}

TEST_CASE("what cannot be is refused in one sentence") {
    refused([](json& s) { s = json::array(); }, "expected a JSON object");
    refused([](json& s) { s["simulation"] = 2; }, "simulation is 2");
    refused([](json& s) { s["colour"] = 1; }, "unknown field colour");
    refused([](json& s) { s["host_kinds"]["pc"]["speed"] = 1; }, "unknown field speed");
    refused([](json& s) { s["hosts"][0]["count"] = 1'000'000'000; }, "count is 1000000000");
    refused([](json& s) { s["hosts"][0]["count"] = 1 << 20; }, "expected 2 to 1048576");
    refused([](json& s) { s["hosts"] = json::array(); }, "there are 0, expected 2");
    refused([](json& s) { s["hosts"][0]["switch"] = "nowhere"; }, "nowhere is not among");
    refused([](json& s) { s["switches"] = json::array(); }, "there are none");
    refused([](json& s) { s["switches"][1]["parent"] = "leaf1"; }, "leaf1 is not among");
    refused([](json& s) { s["switches"][2]["name"] = "leaf0"; }, "stands twice");
    refused([](json& s) { s["link_kinds"]["fast"]["rate_bit_per_s"] = 0; }, "rate_bit_per_s is 0");
    refused([](json& s) { s["link_kinds"]["fast"]["loss_ratio"] = 1.5; }, "loss_ratio is 1.5");
    refused(
        [](json& s) {
            s["link_kinds"]["fast"]["burst"] = {{"enter_ratio", 1.5}};
        },
        "enter_ratio is 1.5");
    refused([](json& s) { s["link_kinds"]["fast"]["burst"] = {{"loss", 0.5}}; }, "loss");
    refused([](json& s) { s["switch_kinds"]["leaf"]["architecture"] = "magic"; },
            "expected one of");
    refused([](json& s) { s["switch_kinds"]["leaf"]["buffer_packets"] = 0; },
            "buffer_packets is 0");
    refused(
        [](json& s) {
            s["switch_kinds"]["leaf"]["pause"] = {{"high_packets", 3}, {"low_packets", 3}};
        },
        "low_packets is 3");
    refused([](json& s) { s["transport"]["kind"] = "pigeon"; }, "no kind is called pigeon");
    refused([](json& s) { s["transport"]["window_packets"] = 0; }, "window_packets is 0");
    refused([](json& s) { s["workload"]["kind"] = "nothing"; }, "no kind is called nothing");
    refused([](json& s) { s["workload"]["target"] = 16; }, "target is 16");
    refused([](json& s) { s["workload"]["senders"] = {3, 3}; }, "stands twice in senders");
    refused([](json& s) { s["workload"]["senders"] = {15}; }, "cannot send to itself");
    refused([](json& s) { s["workload"]["senders"] = {16}; }, "a rank is an integer from 0 to 15");
    refused([](json& s) { s["workload"]["payload_bytes"] = 70'000; }, "payload_bytes is 70000");
    refused(
        [](json& s) {
            s["workload"] = {{"kind", "uniform"}, {"packets", 1}, {"payload_bytes", 9}};
        },
        "datagrams only");
    refused(
        [](json& s) {
            s["workload"] = {
                {"kind", "schedule"}, {"payload_bytes", 9}, {"algorithm", "alltoall/magic"}};
        },
        "alltoall/magic");
    refused(
        [](json& s) {
            s["workload"] = {{"kind", "trace"},
                             {"payload_bytes", 9},
                             {"messages", {{5, 0, 1, 1}, {4, 0, 1, 1}}}};
        },
        "in order of their time");
    refused([](json& s) { s["record"]["queues"][0]["switch"] = "attic"; },
            "no switch is called attic");
    refused([](json& s) { s["record"]["queues"][0]["switch"] = "root"; }, "has no uplink");
    refused([](json& s) { s["record"]["queues"][0]["port"] = {{"host", 1}}; }, "is not at leaf1");
    refused([](json& s) { s["record"]["queues"][0]["port"] = 3; }, "expected a JSON object");
    refused([](json& s) { s["limits"]["events"] = 100; }, "more than limits.events = 100");
    refused([](json& s) { s["limits"]["time_ns"] = 1000; }, "beyond limits.time_ns = 1000");
    refused([](json& s) { s["limits"]["samples"] = 3; }, "more than limits.samples = 3");
}

TEST_CASE("memory has its limit") {
    json scenario = one_switch(3, {{"architecture", "output"}}, {{"kind", "datagram"}},
                               {{"kind", "many_to_one"}, {"target", 0}, {"packets", 200'000}});
    scenario["limits"]["memory_bytes"] = 4 << 20;
    scenario["host_kinds"]["pc"]["transmit_ring_packets"] = 1'000'000;
    CHECK(answer(scenario).find("limits.memory_bytes") != std::string::npos);
}

// Whatever is changed in the example, it runs or is refused: nothing else.
TEST_CASE("scenarios with anything in any place") {
    std::mt19937_64 random(5);
    const std::vector<json> values{nullptr,
                                   true,
                                   0,
                                   -1,
                                   1,
                                   0.5,
                                   "",
                                   "up",
                                   1e300,
                                   1e-30,
                                   "leaf0",
                                   "root",
                                   json::array(),
                                   json::object(),
                                   INT64_MAX,
                                   INT64_MIN,
                                   UINT64_MAX,
                                   {0, 1},
                                   {{"host", 3}}};
    const json plain = [] {
        json scenario = example();
        scenario["workload"]["packets"] = 3;
        scenario["limits"] = {{"events", 200'000}, {"samples", 100'000}};
        return scenario.flatten();
    }();
    std::vector<std::string> names;
    for (const auto& [name, value] : plain.items()) {
        names.push_back(name);
    }
    for (int round = 0; round < 3000; ++round) {
        json scenario = plain.unflatten();
        for (int change = 0; change < 1 + round % 3; ++change) {
            const json::json_pointer at(names[random() % names.size()]);
            const json& value = values[random() % values.size()];
            try {
                scenario.at(random() % 4 == 0 ? at.parent_pointer() : at) = value;
            } catch (const json::exception&) { // it was inside of what has been replaced
                continue;
            }
        }
        try {
            (void)answer(scenario);
        } catch (const std::exception& error) {
            FAIL_CHECK(error.what()
                       << ": " << scenario.dump(-1, ' ', true, json::error_handler_t::replace));
        }
    }
}
