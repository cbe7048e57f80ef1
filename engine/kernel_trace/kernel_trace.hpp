// How long the worker and its packets wait inside this host, counted by eBPF programs on the
// kernel's tracepoints. They are loaded while a KernelTrace lives, and not otherwise; where they
// cannot be had, everything else works without them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parse.hpp"

namespace sonde {

// Why there is no kernel tracing here.
struct KernelTraceMissing {
    // not_compiled, no_btf, capability or refused.
    std::string reason;
    std::string detail; // in words; may be empty
};

enum class SocketRole : std::uint8_t { test, control };

// Something that disturbed, or took long.
struct KernelEvent {
    std::int64_t begin_ns = 0; // CLOCK_MONOTONIC
    std::int64_t duration_ns = 0;
    int kind = 0; // enum trace_event_kind
    int processor = 0;
    std::int64_t detail = 0;
    std::string name; // who had the CPU, or the interrupt's; may be empty
};

struct KernelEvents {
    std::vector<KernelEvent> kept; // the first ones
    std::uint64_t lost = 0;        // how many came after those
};

class KernelTrace {
public:
    KernelTrace() = default;
    virtual ~KernelTrace() = default;
    KernelTrace(const KernelTrace&) = delete;
    KernelTrace& operator=(const KernelTrace&) = delete;

    // From now on, what this socket sends and receives counts; throws Failure("system").
    virtual void watch(int socket, SocketRole role) = 0;
    // The largest values and the events begin again.
    virtual void begin() = 0;
    // Adds depth.*, by the names of docs/reference/records.md.
    virtual void add(CounterValues& values) const = 0;
    // What happened since begin().
    [[nodiscard]] virtual KernelEvents events() const = 0;
};

// Loads the programs and lets them count for this process; none where that cannot be done, with
// the reason.
[[nodiscard]] std::unique_ptr<KernelTrace> load_kernel_trace(KernelTraceMissing& missing);

} // namespace sonde
