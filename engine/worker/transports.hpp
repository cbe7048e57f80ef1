// The registry of what sonde-worker can open.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.hpp"
#include "core/request.hpp"
#include "worker/session.hpp"

namespace sonde {

// A transport, by how its ends are opened; null where it has no such end. Each of the functions
// takes every field of its request but the transport's name, and throws Failure("bad_request").
struct WorkerTransport {
    std::string_view name; // in requests
    Opening<ListeningEnd> (*listen)(Fields& fields) = nullptr;
    Opening<Session> (*connect)(Fields& fields) = nullptr; // the origin, after the target's listen
    Opening<Session> (*alone)(Fields& fields) = nullptr;   // nobody of ours is at the other end
};

[[nodiscard]] std::span<const WorkerTransport> worker_transports();

// "tcp or udp": for sentences that say what was expected.
[[nodiscard]] std::string any_of(std::span<const std::string_view> names);

// Reads the end of the transport that a request names; where: what else the request said, if that
// narrows the choice. Throws Failure("bad_request") where none of that name has such an end.
template <class End>
[[nodiscard]] Opening<End> read_end(std::span<const WorkerTransport> known,
                                    Opening<End> (*WorkerTransport::*end)(Fields&), Fields& fields,
                                    std::string_view where = "") {
    const std::string name = fields.text("transport", 16);
    std::vector<std::string_view> expected;
    for (const WorkerTransport& transport : known) {
        if (transport.*end == nullptr) {
            continue;
        }
        if (transport.name == name) {
            return (transport.*end)(fields);
        }
        expected.push_back(transport.name);
    }
    throw Failure("bad_request", "request: transport is " + name + ", expected " +
                                     any_of(expected) + std::string(where));
}

} // namespace sonde
