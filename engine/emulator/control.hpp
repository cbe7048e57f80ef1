// The switch's control socket: one JSON request a line, one JSON answer a line.
//
// It listens in the abstract name space of the switch's own network namespace, so that no file is
// left behind, and answers only processes of the same user.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "core/request.hpp"

namespace sonde {

// What belongs to one connection: a descriptor that came with the last request, and whatever a
// handler ties to the connection, which ends with it.
struct ControlClient {
    Descriptor passed;
    std::shared_ptr<void> tied;
};

// Takes all its fields, returns the answer's values, throws Failure to answer with an error.
using ControlHandler = std::function<nlohmann::json(Request&, ControlClient&)>;

class ControlServer {
public:
    explicit ControlServer(std::map<std::string, ControlHandler> handlers);
    ~ControlServer();
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

private:
    struct Connection {
        Descriptor fd;
        std::string heard;
        ControlClient client;
    };
    static constexpr std::size_t most_connections = 16;

    void serve();
    void admit();
    [[nodiscard]] bool hear(Connection& connection);
    [[nodiscard]] std::string answer(const std::string& line, ControlClient& client);

    std::map<std::string, ControlHandler> handlers_;
    Descriptor listener_;
    Descriptor wake_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// The other side: sends the lines of standard input and prints the answers; with pass_output the
// first line carries standard output's descriptor along, and the answers go to standard error.
// Returns the exit status. Throws Failure where no switch is running in this network namespace.
[[nodiscard]] int ask_switch(bool pass_output);

} // namespace sonde
