// The control channel over a TCP connection: frames of a fixed size.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "core/descriptor.hpp"
#include "transport/socket/seal.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Where the seal of a control channel is, null where it has none.
[[nodiscard]] inline Seal* seal_in(std::optional<Seal>& seal) noexcept {
    return seal ? &*seal : nullptr;
}

class SocketControl {
public:
    // interrupted: why a wait may end early. seal: each frame has a tag, none where it is null.
    // Both must outlive the channel.
    SocketControl(Descriptor connection, const std::atomic<bool>& interrupted, Seal* seal = nullptr)
        : connection_(std::move(connection)), interrupted_(interrupted), seal_(seal) {}

    void send(const Frame& frame);
    // Throws Failure("peer_lost") where the peer is gone, gave up, or says something else, and
    // Failure("data_corrupt") where it is not the peer who says it.
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
    Seal* seal_;
};

static_assert(PollableControl<SocketControl>);

} // namespace sonde
