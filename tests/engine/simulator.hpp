// Scenarios for the simulator's tests: small clusters whose truth is known.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"

namespace sonde::simulator {

// One switch; hosts and links that take no time but that on the line, 100 Mbit/s. A packet of
// 1492 + 8 bytes takes 123.04 us.
inline nlohmann::json one_switch(int hosts, nlohmann::json switch_kind, nlohmann::json transport,
                                 nlohmann::json workload) {
    workload["payload_bytes"] = workload.value("payload_bytes", 1492);
    return {{"simulation", 1},
            {"host_kinds", {{"pc", nlohmann::json::object()}}},
            {"link_kinds", {{"fast", {{"rate_bit_per_s", 100'000'000}}}}},
            {"switch_kinds", {{"s", std::move(switch_kind)}}},
            {"switches", {{{"name", "s0"}, {"kind", "s"}}}},
            {"hosts", {{{"switch", "s0"}, {"count", hosts}, {"kind", "pc"}, {"link", "fast"}}}},
            {"transport", std::move(transport)},
            {"workload", std::move(workload)}};
}

inline nlohmann::json many_to_one(int packets) {
    return {{"kind", "many_to_one"}, {"target", 0}, {"packets", packets}};
}

inline nlohmann::json go_back_n(int window, std::int64_t timeout_ns) {
    return {{"kind", "go_back_n"},
            {"window_packets", window},
            {"timeout_ns", timeout_ns},
            {"control_bytes", 46}};
}

constexpr std::int64_t full_packet_ns = 123'040;

inline Outcome run_scenario(const nlohmann::json& scenario) {
    return simulate(read_scenario(scenario));
}

inline std::int64_t place(const Outcome& outcome, const std::string& name) {
    for (const NamedCount& count : outcome.places) {
        if (count.name == name) {
            return count.value;
        }
    }
    return 0;
}

} // namespace sonde::simulator
