// An open TCP or UDP transport: batches run over it until it is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"

namespace sonde {

class SocketSession {
public:
    // rank: 0 for the origin, 1 for the target. The calling thread is pinned while this lives,
    // where the options ask for it. interrupted must outlive the session.
    SocketSession(Connections connections, int rank, const std::atomic<bool>& interrupted);

    // The values of `done` of `open`.
    [[nodiscard]] nlohmann::json opened() const;

    // Throws Failure("bad_request") for what this transport cannot do, before anything is sent.
    void check(const RunParameters& run) const;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase, const BatchHooks& hooks);

    // The connections' sockets, open as long as this lives.
    [[nodiscard]] int test_socket() const noexcept { return test_.get(); }
    [[nodiscard]] int control_socket() const noexcept { return control_.fd(); }

    // What the kernel counts for this transport's connections, for snapshots.
    [[nodiscard]] OwnTraffic own_traffic() const;

    // Tells the other end that this one has failed.
    void abort(const std::string& code) noexcept { control_.abort(code); }
    // Ends a run, from any thread.
    void interrupt() noexcept;

private:
    void check_rounds(const RunParameters& run) const;
    void check_datagrams_per_call(const RunParameters& run) const;
    void check_kernel_times(const RunParameters& run) const;
    [[nodiscard]] Result run_as_asked(const RunParameters& run, Timebase& timebase,
                                      const BatchHooks& hooks);
    template <class Path, class... Arguments>
    [[nodiscard]] Result run_tcp(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks, const Arguments&... how);
    template <class Wait>
    [[nodiscard]] Result run_waiting(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_stamped(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks);

    SocketKind kind_;
    SocketOptions options_;
    int rank_;
    const std::atomic<bool>& interrupted_;
    SocketControl control_;
    Descriptor test_;
    std::string interface_;
    PinnedTo pinned_;
    bool stamped_ = false; // the kernel gives times of messages, and was asked for them
    std::uint32_t batch_ = 0;
};

} // namespace sonde
