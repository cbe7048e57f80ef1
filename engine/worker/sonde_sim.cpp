// sonde-sim: algorithms as schedules and the simulator. One JSON request on standard input, JSON
// lines on standard output.
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "core/failure.hpp"
#include "core/json_object.hpp"
#include "core/request.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "worker/schedule_verbs.hpp"
#include "worker/simulation_records.hpp"

namespace {

using namespace sonde;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_request_bytes = std::size_t{256} << 20U;
constexpr std::size_t most_scenario_bytes = std::size_t{64} << 20U;

void say(const ordered_json& words) {
    std::cout << words.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    if (!std::cout) {
        throw Failure("system", "standard output was closed");
    }
}

// All of standard input, one JSON object.
json read_input(const std::string& what, std::size_t most_bytes) {
    std::string text;
    std::array<char, 65536> piece{};
    while (std::cin.read(piece.data(), piece.size()) || std::cin.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(std::cin.gcount()));
        if (text.size() > most_bytes) {
            throw Failure("bad_request", what + ": more than " + std::to_string(most_bytes >> 20U) +
                                             " MiB came on standard input");
        }
    }
    return parse_json_object(text, what);
}

int fail(const std::string& code, const std::string& message) {
    say({{"record", "error"}, {"code", code}, {"message", message}});
    return code == "bad_request" ? 2 : 3;
}

void answer_request() {
    answer_schedule_request(Fields(read_input("request", most_request_bytes), "request"), say);
}

int run_schedule() {
    try {
        answer_request();
        std::cout << std::flush;
        return 0;
    } catch (const Failure& failure) {
        return fail(failure.code(), failure.what());
    } catch (const std::exception& error) {
        return fail("system", error.what());
    }
}

// What is wrong with a scenario is for people: one sentence, and no record is written.
int run_simulation() {
    try {
        const simulator::Scenario scenario =
            simulator::read_scenario(read_input("scenario", most_scenario_bytes));
        write_simulation(STDOUT_FILENO, scenario, simulator::simulate(scenario));
        return 0;
    } catch (const Failure& failure) {
        std::cerr << failure.what() << '\n';
        return failure.code() == "bad_request" || failure.code() == "limit" ? 2 : 3;
    } catch (const std::bad_alloc&) {
        std::cerr << "scenario: there is not enough memory for it\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 3;
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::map<std::string, std::function<int()>> modes{{"schedule", run_schedule},
                                                            {"run", run_simulation}};
    const auto mode = modes.find(argc == 2 ? argv[1] : "");
    if (mode == modes.end()) {
        std::cerr << "sonde-sim " NETSONDE_VERSION
                     ": part of netsonde, started by it; give schedule or run\n";
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::ios::sync_with_stdio(false);
    return mode->second();
}
