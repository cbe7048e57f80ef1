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
#include "worker/session.hpp"

namespace sonde {

struct EchoParameters {
    SocketAddress target;
    SocketOptions options;
};

// Throws Failure("bad_request").
[[nodiscard]] EchoParameters read_echo_parameters(Fields& fields);

class EchoSession final : public Session {
public:
    // Throws Failure where the socket cannot be had. The calling thread is pinned while this lives,
    // where the options ask for it. interrupted must outlive this.
    EchoSession(const EchoParameters& parameters, const std::atomic<bool>& interrupted);

    [[nodiscard]] nlohmann::json opened() const override;
    void check(const RunParameters& run) const override;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase,
                             const BatchHooks& hooks) override;
    [[nodiscard]] OwnTraffic own_traffic() const override;
    void interrupt() noexcept override;

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

// An `open` of echoes. Throws Failure("bad_request").
[[nodiscard]] Opening<Session> read_echoes(Fields& fields);

} // namespace sonde
