// How long the worker and its packets wait inside this host, counted by eBPF programs on the
// kernel's tracepoints. They are loaded while a Depth lives, and not otherwise; where they cannot
// be had, everything else works without them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trace/parse.hpp"

namespace sonde {

// Why there is no depth here.
struct DepthMissing {
    // not_compiled, no_btf, capability or refused.
    std::string reason;
    std::string detail; // in words; may be empty
};

enum class SocketRole : std::uint8_t { test, control };

class Depth {
public:
    Depth() = default;
    virtual ~Depth() = default;
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

    // From now on, what this socket sends and receives counts; throws Failure("system").
    virtual void watch(int socket, SocketRole role) = 0;
    // The largest values begin again.
    virtual void begin() = 0;
    // Adds depth.*, by the names of docs/reference/records.md.
    virtual void add(CounterValues& values) const = 0;
};

// Loads the programs and lets them count for this process; none where that cannot be done, with
// the reason.
[[nodiscard]] std::unique_ptr<Depth> load_depth(DepthMissing& missing);

} // namespace sonde
