// Kernel tracing by the worker: loaded where a transport asks for it, gone with that transport.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "counters/snapshot.hpp"
#include "kernel_trace/kernel_trace.hpp"
#include "test/result.hpp"

namespace sonde {

class AskedKernelTrace {
public:
    // Loads the programs where they are wanted; nothing is loaded otherwise. Where they cannot be
    // had, add_to() says why.
    void ask(bool wanted);
    void forget();

    // The sockets of an open transport, which are watched from now on.
    void watch(int test, int control);
    // Adds whether there is any, and the reason where not, to the values of `done` of `open`.
    void add_to(nlohmann::json& opened) const;

    // Right before the traffic, where the largest values begin again, and at any other time.
    void add_before(CounterValues& values);
    void add_now(CounterValues& values) const;
    // The events since add_before(), right after the traffic, and as series of its result.
    void take_events();
    void report(Result& result) const;

private:
    bool asked_ = false;
    KernelTraceMissing missing_;
    KernelEvents events_;
    std::unique_ptr<KernelTrace> kernel_trace_;
};

} // namespace sonde
