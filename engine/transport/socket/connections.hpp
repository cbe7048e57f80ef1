// How two ends find each other: one listens, the other connects, a cookie opens both connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/greeting.hpp"
#include "transport/socket/options.hpp"
#include "transport/socket/waiting.hpp"

namespace sonde {

enum class SocketKind : std::uint8_t { tcp, udp };

// Both ends of a session that has a key have one, from the first frame on.
[[nodiscard]] inline std::optional<Seal> seal_of(const Admission& admission, Speaker own) {
    return admission.key ? std::optional<Seal>(std::in_place, *admission.key, own) : std::nullopt;
}

struct Connections {
    SocketKind kind = SocketKind::tcp;
    SocketOptions options;
    Descriptor control;
    Descriptor test;
    Admission admission;
    std::optional<Seal> seal; // where there is a key
};

struct ListenParameters {
    SocketKind kind = SocketKind::tcp;
    Family family = Family::ipv4;
    Admission admission;
    SocketAddress address;
    std::optional<SocketAddress> allow;
    SocketOptions options;
    std::int64_t timeout_ns = 0;
};

// The target's listening sockets. Whoever does not say the cookie within a second, or comes from an
// address that is not allowed, is closed; the wait goes on.
class Listener {
public:
    explicit Listener(ListenParameters parameters);

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::int64_t timeout_ns() const noexcept { return parameters_.timeout_ns; }
    // Throws Failure("timeout"). The listener is used up afterwards.
    [[nodiscard]] Connections accept(const Deadline& deadline);
    // Nobody gets in any more; from any thread.
    void interrupt() noexcept;

private:
    struct Pending {
        Descriptor fd;
        Greeting bytes{};
        std::size_t got = 0;
        std::int64_t end_ns = 0;
    };
    enum class Verdict : std::uint8_t { wait, drop, take };

    void rehearse() const;
    void bind();
    void prepare_for_test() const;
    void bind_datagrams(std::uint16_t port);
    [[nodiscard]] bool allowed(const SocketAddress& peer) const;
    void take_newcomers(std::vector<Pending>& pending) const;
    void hear(std::vector<Pending>& pending, const std::vector<bool>& ready,
              Connections& connections) const;
    [[nodiscard]] Verdict hear_one(Pending& one, Connections& connections) const;
    void meet_datagrams(Connections& connections, const Deadline& deadline);
    // Answers a greeting that is waiting; false where it was none of the control connection's peer.
    [[nodiscard]] bool answer_datagram(const SocketAddress& peer) const;

    ListenParameters parameters_;
    Descriptor listener_;
    Descriptor datagrams_; // udp
};

struct ConnectParameters {
    SocketKind kind = SocketKind::tcp;
    Admission admission;
    SocketAddress target;
    SocketOptions options;
};

// The origin's side. Throws Failure("refused") where nobody listens or the cookie is not the
// target's, Failure("timeout") otherwise.
[[nodiscard]] Connections connect_to_target(const ConnectParameters& parameters,
                                            const Deadline& deadline);

} // namespace sonde
