// Schedules as workloads: what the simulator makes of them, beside what the model says.
#include "simulator.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace sonde;
using namespace sonde::simulator;
using nlohmann::json;

TEST_SUITE_BEGIN("simulator_schedules");

namespace {

json algorithm(const char* name, std::int64_t block_bytes) {
    return {{"kind", "schedule"}, {"algorithm", name}, {"block_bytes", block_bytes}};
}

const json roomy{{"architecture", "output"}, {"cut_through", true}};

std::int64_t elapsed_ns(int hosts, const json& workload) {
    const Outcome outcome =
        run_scenario(one_switch(hosts, roomy, {{"kind", "datagram"}}, workload));
    CHECK(outcome.finished);
    return to_ns(outcome.elapsed);
}

constexpr std::int64_t one_packet_ns = full_packet_ns + 1'760; // through a cut-through switch

} // namespace

TEST_CASE("a binomial broadcast takes a packet's time for each of its levels") {
    for (const int hosts : {2, 4, 8, 16, 64}) {
        const auto levels = static_cast<std::int64_t>(std::log2(hosts) + 0.5);
        CAPTURE(hosts);
        CHECK(elapsed_ns(hosts, algorithm("broadcast/binomial", 1492)) == levels * one_packet_ns);
    }
}

TEST_CASE("a linear broadcast sends one after the other") {
    CHECK(elapsed_ns(9, algorithm("broadcast/linear", 1492)) == 7 * full_packet_ns + one_packet_ns);
}

TEST_CASE("every collective ends, over each transport, from each root") {
    for (const auto& entry : schedule::algorithms()) {
        for (const int hosts : {2, 5, 8}) {
            if (entry.uses.power_of_two && hosts == 5) {
                continue;
            }
            for (const char* transport : {"datagram", "go_back_n", "tcp"}) {
                const std::string name(entry.name);
                CAPTURE(name);
                CAPTURE(hosts);
                CAPTURE(transport);
                json workload =
                    algorithm(name.c_str(), entry.family == schedule::Family::barrier ? 0 : 5000);
                if (entry.uses.root) {
                    workload["root"] = hosts - 1;
                }
                if (entry.uses.segments) {
                    workload["segment_bytes"] = 1492;
                }
                workload["repetitions"] = 2;
                const json carrier = std::string(transport) == "go_back_n"
                                         ? go_back_n(8, 100'000'000)
                                         : json{{"kind", transport}};
                Outcome outcome;
                try {
                    outcome = run_scenario(one_switch(hosts, roomy, carrier, workload));
                } catch (const Failure& failure) { // needs more than these parameters
                    CAPTURE(failure.what());
                    CHECK(entry.uses.hierarchy);
                    continue;
                }
                CHECK(outcome.finished);
                CHECK(outcome.lost_overflow == 0);
                CHECK(outcome.completions.size() == 2 * static_cast<std::size_t>(hosts));
            }
        }
    }
}

TEST_CASE("local work takes the CPU") {
    json scenario =
        one_switch(2, roomy, {{"kind", "datagram"}}, algorithm("reduce/binomial", 1492));
    const std::int64_t free_ns = to_ns(run_scenario(scenario).elapsed);
    scenario["host_kinds"]["pc"]["copy"] = {{"base_ns", 1000}, {"per_byte_ns", 2.0}};
    CHECK(to_ns(run_scenario(scenario).elapsed) == free_ns + 1000 + 2 * 1492);
}

TEST_CASE(
    "a complete exchange: the synchronous shuffle comes close to the bound, the shift does not") {
    // 16 hosts, an output-buffered switch, overheads as published (A. Tam, 2001, Table 5.2).
    const auto part_of_bound = [](const char* name, int packets) {
        json workload{{"kind", "schedule"}, {"algorithm", name}, {"block_packets", packets}};
        json transport = go_back_n(16, 50'000'000);
        transport["acknowledge"] = "piggyback";
        transport["delay_packets"] = 8;
        transport["delay_ns"] = 2'000'000;
        json scenario = one_switch(
            16, {{"architecture", "output"}, {"buffer_packets", 95}, {"latency_ns", 10'000}},
            transport, workload);
        scenario["host_kinds"]["pc"] = {
            {"send_overhead", {{"base_ns", 12'500}}},
            {"receive_overhead", {{"base_ns", 20'000}}},
            {"user_receive_overhead", {{"base_ns", 7'000}}},
            {"jitter", {{"distribution", "exponential"}, {"mean_ns", 1'000}}}};
        const Outcome outcome = run_scenario(scenario);
        CHECK(outcome.finished);
        return 15.0 * packets * static_cast<double>(full_packet_ns) /
               static_cast<double>(to_ns(outcome.elapsed));
    };
    const double synchronous = part_of_bound("alltoall/synchronous-shuffle", 64);
    const double pairwise = part_of_bound("alltoall/pairwise", 64);
    const double shift = part_of_bound("alltoall/shift", 64);
    CHECK(part_of_bound("alltoall/synchronous-shuffle", 512) > 0.95);
    CHECK(synchronous > 0.94);
    CHECK(synchronous > pairwise);
    CHECK(pairwise > shift);
}
