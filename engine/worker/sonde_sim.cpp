// sonde-sim: algorithms as schedules and the simulator. One JSON request on standard input, JSON
// lines on standard output.
#include <array>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "worker/schedule_verbs.hpp"

namespace {

using namespace sonde;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_input_bytes = std::size_t{256} << 20U;

void say(const ordered_json& words) {
    std::cout << words.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    if (!std::cout) {
        throw Failure("system", "standard output was closed");
    }
}

// All of standard input, one JSON object.
Fields read_request() {
    std::string text;
    std::array<char, 65536> piece{};
    while (std::cin.read(piece.data(), piece.size()) || std::cin.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(std::cin.gcount()));
        if (text.size() > most_input_bytes) {
            throw Failure("bad_request", "request: more than 256 MiB came on standard input");
        }
    }
    json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded()) {
        throw Failure("bad_request", "request: standard input is not a JSON object");
    }
    return Fields(std::move(parsed), "request");
}

int fail(const std::string& code, const std::string& message) {
    say({{"record", "error"}, {"code", code}, {"message", message}});
    return code == "bad_request" ? 2 : 3;
}

} // namespace

int main(int argc, char** argv) {
    const std::map<std::string, std::function<void()>> modes{
        {"schedule", [] { answer_schedule_request(read_request(), say); }}};
    const auto mode = modes.find(argc == 2 ? argv[1] : "");
    if (mode == modes.end()) {
        std::cerr << "sonde-sim " NETSONDE_VERSION
                     ": part of netsonde, started by it; give schedule\n";
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::ios::sync_with_stdio(false);
    try {
        mode->second();
        std::cout << std::flush;
        return 0;
    } catch (const Failure& failure) {
        return fail(failure.code(), failure.what());
    } catch (const std::exception& error) {
        return fail("system", error.what());
    }
}
