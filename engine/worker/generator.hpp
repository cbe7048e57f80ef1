// Datagrams to a host on which nothing of ours runs: paced traffic from one end.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/request.hpp"
#include "counters/snapshot.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/options.hpp"

namespace sonde {

struct GeneratorParameters {
    SocketAddress target;
    SocketOptions options;
    RunParameters run; // of a stream
};

// Throws Failure("bad_request").
[[nodiscard]] GeneratorParameters read_generator_parameters(Fields& fields);

class Generator {
public:
    // Throws Failure where the socket cannot be had. interrupted must outlive this.
    Generator(const GeneratorParameters& parameters, const std::atomic<bool>& interrupted);

    [[nodiscard]] Result run(Timebase& timebase, const BatchHooks& hooks);
    [[nodiscard]] OwnTraffic own_traffic() const;
    // interrupted ends a run, with what was sent until then: nobody waits for the rest.
    void interrupt() noexcept {}

private:
    GeneratorParameters parameters_;
    const std::atomic<bool>& interrupted_;
    Descriptor socket_;
    std::string interface_;
    PinnedTo pinned_;
};

} // namespace sonde
