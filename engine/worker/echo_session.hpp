// Round trips to a host on which nothing of ours runs: its kernel answers ICMP echoes.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/request.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/echo_socket.hpp"
#include "transport/socket/options.hpp"

namespace sonde {

struct EchoParameters {
    SocketAddress target;
    SocketOptions options;
};

// Throws Failure("bad_request").
[[nodiscard]] EchoParameters read_echo_parameters(Fields& fields);

class EchoSession {
public:
    // Throws Failure where the socket cannot be had. The calling thread is pinned while this lives,
    // where the options ask for it. interrupted must outlive this.
    EchoSession(const EchoParameters& parameters, const std::atomic<bool>& interrupted);

    // The values of `done` of `open`.
    [[nodiscard]] nlohmann::json opened() const;

    // Throws Failure("bad_request") for what echoes cannot do, before anything is sent.
    void check(const RunParameters& run) const;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks);

    [[nodiscard]] OwnTraffic own_traffic() const;
    // Ends a run, from any thread.
    void interrupt() noexcept;

private:
    template <class Wait>
    [[nodiscard]] Result run_waiting(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks);

    EchoParameters parameters_;
    const std::atomic<bool>& interrupted_;
    EchoSocket socket_;
    std::string interface_;
    PinnedTo pinned_;
    std::uint32_t batch_ = 0;
};

} // namespace sonde
