// The two ends of tests between tasks of a virtual machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/request.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "transport/pvm/path.hpp"
#include "transport/pvm/routes.hpp"
#include "worker/session.hpp"

namespace sonde {

// The `options` of a request.
struct PvmOptions {
    int encoding = 0; // PVM's number
    std::string encoding_name;
    bool direct = false;    // the route that is asked for
    bool times_pack = true; // packing and unpacking are inside of what is timed
    std::optional<int> cpu;
};

// Takes the object `options` of a request. Throws Failure("bad_request").
[[nodiscard]] PvmOptions read_pvm_options(Fields& fields);

// What a session has of the machine that it is in.
struct PvmSurroundings {
    int own_task;
    std::string interface;                   // by which the daemon's traffic leaves; may be empty
    std::function<CounterValues()> counters; // of the daemon, where it is this worker's
    const std::atomic<bool>& interrupted;
};

class PvmSession final : public Session {
public:
    // The origin, whose partner listens. It sets the route up: where both ends ask for a direct one
    // at once they wait for each other.
    static std::unique_ptr<PvmSession> connect(const PvmOptions& options, int target,
                                               const PvmSurroundings& around,
                                               std::int64_t timeout_ns);
    // The target waits for its origin.
    static std::unique_ptr<PvmSession>
    accept(const PvmOptions& options, const PvmSurroundings& around, std::int64_t timeout_ns);

    [[nodiscard]] nlohmann::json opened() const override;
    void check(const RunParameters& run) const override;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase,
                             const BatchHooks& hooks) override;
    [[nodiscard]] OwnTraffic own_traffic() const override;
    // Closes the library's sockets: its calls fail from then on.
    void interrupt() noexcept override;

    PvmSession(PvmOptions options, int rank, int peer, PvmSurroundings around);

private:
    template <class Path>
    [[nodiscard]] Result run_over(Path path, const RunParameters& run, Timebase& timebase,
                                  const BatchHooks& hooks);

    PvmOptions options_;
    int rank_;
    int peer_;
    PvmSurroundings around_;
    std::optional<pvm::RouteSocket> route_;
    std::vector<int> descriptors_;
    PinnedTo pinned_;
    std::uint32_t batch_ = 0;
};

} // namespace sonde
