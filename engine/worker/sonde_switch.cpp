// sonde-switch: the lab's switch on TAP devices, the way to talk to it, and traffic to fill it.
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "emulator/control.hpp"
#include "emulator/load.hpp"
#include "emulator/memory.hpp"
#include "emulator/switch_control.hpp"
#include "emulator/switch_loop.hpp"
#include "emulator/tap.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

constexpr std::size_t most_input_bytes = std::size_t{8} << 20U;

// All of standard input, one JSON object.
Fields read_input(const std::string& context) {
    std::string text;
    std::array<char, 65536> piece{};
    ssize_t got = 0;
    while ((got = ::read(STDIN_FILENO, piece.data(), piece.size())) > 0) {
        text.append(piece.data(), static_cast<std::size_t>(got));
        if (text.size() > most_input_bytes) {
            throw Failure("bad_request", context + ": more than 8 MiB came on standard input");
        }
    }
    json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded()) {
        throw Failure("bad_request", context + ": standard input is not a JSON object");
    }
    return Fields(std::move(parsed), context);
}

LoopSettings read_settings(Fields fields) {
    LoopSettings settings;
    settings.busy = fields.flag("busy", false);
    settings.awake = fields.flag("awake", false);
    settings.priority = static_cast<int>(fields.optional_integer("priority", 0, 99).value_or(0));
    if (const auto cpu = fields.optional_integer("cpu", 0, 4095)) {
        settings.cpu = static_cast<int>(*cpu);
    }
    settings.late_limit_ns = fields.optional_integer("late_limit_ns", 1, 10'000'000'000)
                                 .value_or(settings.late_limit_ns);
    settings.pool_bytes =
        frame_memory_bytes(fields.optional_integer("pool_bytes", 1 << 20, std::int64_t{1} << 40U)
                               .value_or(settings.pool_bytes));
    fields.finish();
    return settings;
}

struct Taps {
    std::vector<Descriptor> devices;
    std::vector<Descriptor> networks;
};

// Each entry names a descriptor, inherited, of the host's network namespace.
Taps open_taps(Fields& fields, std::size_t hosts) {
    Taps taps;
    for (const json& entry : fields.list("taps", most_hosts)) {
        Fields tap(entry, "tap");
        taps.networks.emplace_back(static_cast<int>(tap.integer("network", 0, 1 << 20)));
        const std::string device = tap.text("device", 15);
        const Receiving receiving =
            tap.flag("threaded", false) ? Receiving::by_device : Receiving::by_writer;
        tap.finish();
        taps.devices.push_back(open_tap(taps.networks.back().get(), device, receiving));
    }
    if (taps.devices.size() != hosts) {
        throw Failure("bad_request", "there must be a TAP device for each host");
    }
    return taps;
}

void say(const json& words) {
    std::cout << words.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
}

// Signals end the loop from a thread that waits for them.
class EndBySignal {
public:
    explicit EndBySignal(SwitchLoop& loop) {
        sigemptyset(&signals_);
        sigaddset(&signals_, SIGTERM);
        sigaddset(&signals_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &signals_, nullptr); // before any other thread starts
        std::thread([signals = signals_, &loop] {
            int which = 0;
            sigwait(&signals, &which);
            loop.stop();
        }).detach();
    }

private:
    sigset_t signals_{};
};

int serve() {
    ::mallopt(M_ARENA_MAX, 1); // else every thread takes 64 MiB of what may be mapped
    Fields fields = read_input("switch");
    const Topology topology = read_topology(fields.object("topology"));
    const LoopSettings settings = read_settings(fields.object("loop"));
    Taps taps = open_taps(fields, topology.hosts.size());
    fields.finish();
    SwitchLoop loop(topology, std::move(taps.devices), settings);
    const EndBySignal end(loop);
    std::exception_ptr problem;
    std::thread player([&] {
        try {
            loop.run();
        } catch (...) {
            problem = std::current_exception();
        }
    });
    try {
        loop.call([] {}); // it runs
        const ControlServer control(switch_verbs(loop, std::move(taps.networks)));
        say({{"ready", {{"hosts", topology.hosts.size()}}}});
        player.join();
    } catch (...) {
        loop.stop();
        if (player.joinable()) {
            player.join();
        }
        if (!problem) {
            throw;
        }
    }
    if (problem) {
        std::rethrow_exception(problem);
    }
    return 0;
}

int load() {
    const LoadPlan plan = read_load(read_input("load"));
    say(make_load(plan));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    static const std::map<std::string, std::function<int()>> modes{
        {"serve", serve},
        {"ask", [] { return ask_switch(false); }},
        {"capture", [] { return ask_switch(true); }},
        {"load", load}};
    const auto mode = modes.find(argc == 2 ? argv[1] : "");
    if (mode == modes.end()) {
        std::cerr << "sonde-switch " NETSONDE_VERSION
                     ": part of netsonde, started by it; give serve, ask, capture or load\n";
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return mode->second();
    } catch (const std::exception& error) {
        say({{"error", error.what()}});
        return 3;
    }
}
