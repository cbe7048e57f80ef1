// An open TCP or UDP transport: batches run over it until it is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/request.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"
#include "worker/session.hpp"

namespace sonde {

class SocketSession final : public Session {
public:
    // rank: 0 for the origin, 1 for the target. The calling thread is pinned while this lives,
    // where the options ask for it. interrupted must outlive the session.
    SocketSession(Connections connections, int rank, const std::atomic<bool>& interrupted);

    [[nodiscard]] nlohmann::json opened() const override;
    void check(const RunParameters& run) const override;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase,
                             const BatchHooks& hooks) override;
    [[nodiscard]] OwnTraffic own_traffic() const override;
    [[nodiscard]] std::optional<TestSockets> sockets() const override;
    void abort(const std::string& code) noexcept override { control_.abort(code); }
    void interrupt() noexcept override;

private:
    void check_rounds(const RunParameters& run) const;
    void check_datagrams_per_call(const RunParameters& run) const;
    void check_kernel_times(const RunParameters& run) const;
    void check_room_for_tags(const RunParameters& run) const;
    // The timed loops, in tcp_runs.cpp and udp_runs.cpp: they take longest of all to compile.
    [[nodiscard]] Result run_tcp(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks);
    [[nodiscard]] Result run_udp(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks);
    [[nodiscard]] Result run_sealed_udp(const RunParameters& run, Timebase& timebase,
                                        const BatchHooks& hooks);
    template <class Path, class... Arguments>
    [[nodiscard]] Result run_tcp_by(const RunParameters& run, Timebase& timebase,
                                    const BatchHooks& hooks, const Arguments&... how);
    template <class Wait>
    [[nodiscard]] Result run_tcp_waiting(const RunParameters& run, Timebase& timebase,
                                         const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_udp_waiting(const RunParameters& run, Timebase& timebase,
                                         const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_sealed_udp_waiting(const RunParameters& run, Timebase& timebase,
                                                const BatchHooks& hooks);

    SocketKind kind_;
    SocketOptions options_;
    int rank_;
    const std::atomic<bool>& interrupted_;
    Admission admission_;
    std::optional<Seal> seal_; // where traffic is authenticated
    SocketControl control_;
    Descriptor test_;
    std::string interface_;
    PinnedTo pinned_;
    bool stamped_ = false; // the kernel gives times of messages, and was asked for them
    std::uint32_t batch_ = 0;
};

// A `listen` of sockets, and an `open` as its origin. Throw Failure("bad_request").
template <SocketKind kind>
[[nodiscard]] Opening<ListeningEnd> read_socket_listen(Fields& fields);
template <SocketKind kind>
[[nodiscard]] Opening<Session> read_socket_connect(Fields& fields);

} // namespace sonde
