#include "fuzz/scenario_play.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/failure.hpp"
#include "core/json_object.hpp"
#include "core/request.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "worker/schedule_verbs.hpp"

namespace sonde {

namespace {

using nlohmann::json;

// What takes longer is read and not played: a fuzzer wants many texts a second.
constexpr std::uint32_t most_hosts = 64;
constexpr std::int64_t most_events = 20'000;
constexpr std::int64_t most_samples = 10'000;
constexpr std::int64_t most_memory_bytes = std::int64_t{64} << 20U;
constexpr std::int64_t most_ranks_played = 16;
constexpr std::int64_t most_bytes_played = 100'000;
constexpr std::size_t longest_sentence = 2000;

void play_simulation(const json& input) {
    simulator::Scenario scenario = simulator::read_scenario(input);
    if (scenario.hosts > most_hosts || scenario.workload.messages.size() > most_samples ||
        scenario.workload.parameters.block_bytes > most_bytes_played) {
        return;
    }
    scenario.limits.events = std::min(scenario.limits.events, most_events);
    scenario.limits.samples = std::min(scenario.limits.samples, most_samples);
    scenario.limits.memory_bytes = std::min(scenario.limits.memory_bytes, most_memory_bytes);
    (void)simulator::simulate(scenario);
}

// A number that is larger than what is played becomes that.
void shrink(json& value, std::int64_t most) {
    if (value.is_number_integer() && value > most) {
        value = most;
    }
}

void play_request(json input) {
    for (const char* name : {"ranks", "rank", "ranks_below", "limit"}) {
        if (input.contains(name)) {
            json& value = input[name];
            if (value.is_array()) {
                value = value.size() > 3 ? json(json::array()) : value;
                std::for_each(value.begin(), value.end(),
                              [](json& each) { shrink(each, most_ranks_played); });
            }
            shrink(value, most_ranks_played);
        }
    }
    if (input.contains("block_bytes")) {
        shrink(input["block_bytes"], most_bytes_played);
    }
    if (input.contains("segment_bytes") && input["segment_bytes"].is_number_integer() &&
        input["segment_bytes"] > 0 && input["segment_bytes"] < 1000) {
        input["segment_bytes"] = 1000; // few segments
    }
    answer_schedule_request(Fields(std::move(input), "request"),
                            [](const nlohmann::ordered_json& words) {
                                (void)words.dump(-1, ' ', false, json::error_handler_t::replace);
                            });
}

void check_sentence(const Failure& failure) {
    const std::string said = failure.what();
    if (failure.code() != "bad_request" && failure.code() != "limit") {
        throw std::logic_error("a text is refused with the code " + failure.code());
    }
    if (said.empty() || said.size() > longest_sentence) {
        throw std::logic_error("a text is refused with " + std::to_string(said.size()) +
                               " characters");
    }
}

} // namespace

std::string play_scenario(const std::string& text) {
    try {
        json input = parse_json_object(text, "scenario");
        if (input.contains("verb")) {
            play_request(std::move(input));
        } else {
            play_simulation(input);
        }
    } catch (const Failure& failure) {
        check_sentence(failure);
        return failure.what();
    }
    return "accepted";
}

} // namespace sonde
