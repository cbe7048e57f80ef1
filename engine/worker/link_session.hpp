// An open path on the link itself: batches run over it until it is closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/affinity.hpp"
#include "core/request.hpp"
#include "transport/link/channel.hpp"
#include "transport/link/meet.hpp"
#include "transport/link/options.hpp"
#include "transport/link/port.hpp"
#include "transport/socket/connections.hpp"
#include "transport/socket/control.hpp"
#include "worker/session.hpp"

namespace sonde {

class LinkSession final : public Session {
public:
    // The calling thread is pinned while this lives, where the options ask for it. interrupted must
    // outlive the session.
    LinkSession(Connections connections, const LinkOptions& options, int rank,
                const Deadline& deadline);

    [[nodiscard]] nlohmann::json opened() const override;
    void check(const RunParameters& run) const override;
    [[nodiscard]] Result run(const RunParameters& run, Timebase& timebase,
                             const BatchHooks& hooks) override;
    [[nodiscard]] OwnTraffic own_traffic() const override;
    void abort(const std::string& code) noexcept override { control_.abort(code); }
    void interrupt() noexcept override;

private:
    [[nodiscard]] std::size_t own_fragment_bytes() const;
    [[nodiscard]] LinkPort open_port() const;
    [[nodiscard]] Result run_raw(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks);
    [[nodiscard]] Result run_reliable(const RunParameters& run, Timebase& timebase,
                                      const BatchHooks& hooks);

    LinkOptions options_;
    int rank_;
    const std::atomic<bool>& interrupted_;
    SocketControl control_;
    Descriptor beside_; // says that the other end is there, and which interface leads to it
    std::string local_address_;
    std::string peer_address_;
    LinkDevice device_;
    PinnedTo pinned_;
    ClaimedNumbers number_;
    std::size_t fragment_bytes_ = 0;
    LinkPort port_;
    std::optional<LinkChannel> channel_; // where messages are to come once and in order
    std::uint32_t batch_ = 0;
};

// A `listen` on the link, and an `open` as its origin. Throw Failure("bad_request").
[[nodiscard]] Opening<ListeningEnd> read_link_listen(Fields& fields);
[[nodiscard]] Opening<Session> read_link_connect(Fields& fields);

} // namespace sonde
