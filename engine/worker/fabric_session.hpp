// An open path over libfabric: batches run over it until it is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/affinity.hpp"
#include "transport/libfabric/datagrams.hpp"
#include "transport/libfabric/endpoint.hpp"
#include "transport/libfabric/exposed.hpp"
#include "transport/libfabric/meeting_point.hpp"
#include "transport/libfabric/options.hpp"
#include "transport/libfabric/path.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"
#include "worker/session.hpp"

namespace sonde {

class FabricSession final : public Session {
public:
    // The calling thread is pinned while this lives, where the options ask for it. interrupted must
    // outlive the session.
    FabricSession(Connections connections, const FabricOptions& options, int rank,
                  const Deadline& deadline);

    [[nodiscard]] nlohmann::json opened() const override;
    void check(const RunParameters& run) const override;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase,
                             const BatchHooks& hooks) override;
    [[nodiscard]] OwnTraffic own_traffic() const override { return {{}, interface_}; }
    [[nodiscard]] std::optional<TestSockets> sockets() const override {
        return TestSockets{meeting_.fd(), control_.fd()};
    }
    void abort(const std::string& code) noexcept override { control_.abort(code); }
    void interrupt() noexcept override;

private:
    static void check_bounds(const RunParameters& run);
    void check_operation(const RunParameters& run) const;
    void check_size(const RunParameters& run) const;
    [[nodiscard]] FabricTraffic traffic_of(const RunParameters& run) const;
    [[nodiscard]] std::size_t queued() const; // of the provider, either way
    [[nodiscard]] std::size_t at_once(const RunParameters& run) const;

    // The timed loops, each kind in a file of its own: they take longest of all to compile.
    template <class Wait>
    [[nodiscard]] Result run_sent(const RunParameters& run, Timebase& timebase,
                                  const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_written(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_remote_memory(const RunParameters& run, Timebase& timebase,
                                           const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_datagrams(const RunParameters& run, Timebase& timebase,
                                       const BatchHooks& hooks);
    template <class Wait>
    [[nodiscard]] Result run_waiting(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks);
    [[nodiscard]] Result run_bounds(const RunParameters& run, Timebase& timebase,
                                    const BatchHooks& hooks);
    void trespass(const RunParameters& run, Result& result);
    void suffer(ExposedMemory& exposed, std::uint64_t secret_seed, Result& result);
    [[nodiscard]] Deadline deadline_of(const RunParameters& run) const {
        return {run.timeout_ns, interrupted_};
    }

    FabricOptions options_;
    int rank_;
    const std::atomic<bool>& interrupted_;
    SocketControl control_;
    MeetingPoint meeting_;
    std::string local_address_;
    std::string peer_address_;
    std::string interface_;
    PinnedTo pinned_;
    FabricEndpoint endpoint_;
    std::unique_ptr<FabricDatagramInbox> datagrams_; // longer than what the endpoint looks at
    std::uint32_t batch_ = 0;
};

} // namespace sonde
