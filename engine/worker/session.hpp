// What sonde-worker opens: one end of a transport. It knows no transport by name; those that there
// are have a row each in worker/transports.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"

namespace sonde {

// The ends of a test between two; an end alone has the origin's.
constexpr int origin_rank = 0;
constexpr int target_rank = 1;

// The sockets of an open transport, for kernel tracing.
struct TestSockets {
    int test;
    int control;
};

// An open end: batches run over it until it is destroyed.
class Session {
public:
    Session() = default;
    virtual ~Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // The values of `done` of `open`.
    [[nodiscard]] virtual nlohmann::json opened() const = 0;

    // Throws Failure("bad_request") for what this transport cannot do, before anything is sent.
    virtual void check(const RunParameters& run) const = 0;
    [[nodiscard]] virtual Result run(const RunParameters& run, Timebase& timebase,
                                     const BatchHooks& hooks) = 0;

    // What is counted of this transport alone, for snapshots.
    [[nodiscard]] virtual OwnTraffic own_traffic() const = 0;
    // None where the kernel's tracing has nothing to watch.
    [[nodiscard]] virtual std::optional<TestSockets> sockets() const { return std::nullopt; }

    // Tells the other end, where there is one, that this one has failed.
    virtual void abort(const std::string& /*code*/) noexcept {}
    // Ends a run, from any thread.
    virtual void interrupt() noexcept = 0;
};

// A target that waits for its origin.
class ListeningEnd {
public:
    ListeningEnd() = default;
    virtual ~ListeningEnd() = default;
    ListeningEnd(const ListeningEnd&) = delete;
    ListeningEnd& operator=(const ListeningEnd&) = delete;

    // The values of `done` of `listen`: what the origin needs to find this end.
    [[nodiscard]] virtual nlohmann::json listening() const = 0;
    // Throws Failure("timeout"). This is used up afterwards.
    [[nodiscard]] virtual std::unique_ptr<Session> accept(std::int64_t timeout_ns) = 0;
    // Nobody gets in any more; from any thread.
    virtual void interrupt() noexcept = 0;
};

// What a request asked to open, read and checked; nothing is open yet.
template <class End>
struct Opening {
    bool kernel_trace = false;
    std::int64_t timeout_ns = 0; // 0: it waits for nobody
    // interrupted must outlive the end, which looks at it while it waits.
    std::function<std::unique_ptr<End>(const std::atomic<bool>& interrupted)> make;
};

} // namespace sonde
