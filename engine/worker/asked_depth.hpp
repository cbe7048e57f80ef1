// The worker's depth: loaded where a transport asks for it, gone with that transport.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "depth/depth.hpp"
#include "test/result.hpp"
#include "trace/snapshot.hpp"

namespace sonde {

class AskedDepth {
public:
    // Loads the programs where they are wanted; nothing is loaded otherwise. Where they cannot be
    // had, add_to() says why.
    void ask(bool wanted);
    void forget();

    // The sockets of an open transport, which are watched from now on.
    void watch(int test, int control);
    // Adds depth, and the reason where there is none, to the values of `done` of `open`.
    void add_to(nlohmann::json& opened) const;

    // Right before the traffic, where the largest values begin again, and at any other time.
    void add_before(CounterValues& values);
    void add_now(CounterValues& values) const;
    // The events since add_before(), right after the traffic, and as series of its result.
    void take_events();
    void report(Result& result) const;

private:
    bool asked_ = false;
    DepthMissing missing_;
    DepthEvents events_;
    std::unique_ptr<Depth> depth_;
};

} // namespace sonde
