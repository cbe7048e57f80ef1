// sonde-sim: what needs no network to be known. One JSON object comes on standard input; JSON lines
// go to standard output, and what is wrong to standard error in one sentence.
#include <unistd.h>

#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "core/failure.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "worker/simulation_records.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

constexpr std::size_t most_input_bytes = std::size_t{64} << 20U;
constexpr int most_depth = 16; // of JSON within JSON: reading it is recursive

// Brackets that are open at once, outside of strings.
int depth_of(const std::string& text) {
    int depth = 0, most = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            i += c == '\\' ? 1 : 0;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            most = std::max(most, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return most;
}

json read_input() {
    std::string text;
    std::array<char, 65536> piece{};
    ssize_t got = 0;
    while ((got = ::read(STDIN_FILENO, piece.data(), piece.size())) > 0) {
        text.append(piece.data(), static_cast<std::size_t>(got));
        if (text.size() > most_input_bytes) {
            throw Failure("bad_request", "more than 64 MiB came on standard input");
        }
    }
    if (depth_of(text) > most_depth) {
        throw Failure("bad_request", "the JSON on standard input is nested more than 16 deep");
    }
    json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object()) {
        throw Failure("bad_request", "standard input is not a JSON object");
    }
    return parsed;
}

int run() {
    const simulator::Scenario scenario = simulator::read_scenario(read_input());
    write_simulation(STDOUT_FILENO, scenario, simulator::simulate(scenario));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    static const std::map<std::string, std::function<int()>> modes{{"run", run}};
    const auto mode = modes.find(argc == 2 ? argv[1] : "");
    if (mode == modes.end()) {
        std::cerr << "sonde-sim " NETSONDE_VERSION ": part of netsonde, started by it; give run\n";
        return 2;
    }
    try {
        return mode->second();
    } catch (const Failure& failure) {
        std::cerr << failure.what() << '\n';
        return failure.code() == "bad_request" || failure.code() == "limit" ? 2 : 3;
    } catch (const std::bad_alloc&) {
        std::cerr << "there is not enough memory for this scenario\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 3;
    }
}
