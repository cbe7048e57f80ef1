// The control channel over a TCP connection: frames of a fixed size.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "core/descriptor.hpp"
#include "transport/transport.hpp"

namespace sonde {

class SocketControl {
public:
    // interrupted: why a wait may end early; must outlive the channel.
    SocketControl(Descriptor connection, const std::atomic<bool>& interrupted)
        : connection_(std::move(connection)), interrupted_(interrupted) {}

    void send(const Frame& frame);
    // Throws Failure("peer_lost") where the peer is gone, gave up, or says something else.
    Frame expect(Frame::Kind kind);
    [[nodiscard]] bool arrived();

    // Tells the peer that this end has failed, as far as that is still possible. Never throws.
    void abort(const std::string& code) noexcept;
    // Ends a waiting expect(), from any thread; an abort can still be sent.
    void interrupt() noexcept;
    [[nodiscard]] int fd() const noexcept { return connection_.get(); }
    [[nodiscard]] Descriptor release() noexcept { return std::move(connection_); }

private:
    Descriptor connection_;
    const std::atomic<bool>& interrupted_;
};

static_assert(PollableControl<SocketControl>);

} // namespace sonde
