// The measured path where messages come once and in order.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/link/channel.hpp"
#include "transport/link/pause.hpp"
#include "transport/socket/control.hpp"
#include "transport/transport.hpp"

namespace sonde {

class LinkReliablePath {
public:
    static constexpr bool datagrams = false;

    LinkReliablePath(LinkPort& port, LinkChannel& channel, LinkWait wait, int alive,
                     const std::atomic<bool>& interrupted)
        : port_(port), channel_(channel), pause_(wait), alive_(alive), interrupted_(interrupted),
          before_(channel.counts()), dropped_before_(port.dropped()),
          copied_before_(port.driver().copied()), frames_sent_before_(port.frames_sent()),
          frames_received_before_(port.frames_received()) {
        channel_.note_in(&log_);
    }
    ~LinkReliablePath() { channel_.note_in(nullptr); }
    LinkReliablePath(const LinkReliablePath&) = delete;
    LinkReliablePath& operator=(const LinkReliablePath&) = delete;

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        while (!channel_.try_send(message)) {
            step();
        }
    }
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        while (true) {
            if (const auto bytes = channel_.try_receive(message)) {
                require_whole(*bytes, message.size());
                return *bytes;
            }
            step();
        }
    }
    void exchange(std::span<const std::byte> out, std::span<std::byte> in) {
        send(out, 0);
        receive(in, 0);
    }

    // Behind a batch: what is still outstanding arrives.
    void settle() {
        while (!channel_.is_settled()) {
            step();
        }
    }
    // Sleeps until something comes here or there, or a timer is due; what came here is worked on.
    void sleep_beside(int other) {
        channel_.work();
        const std::int64_t until_ns =
            std::min(channel_.next_timer(), monotonic_ns() + LinkPause::nap_ns);
        std::array<pollfd, 2> fds{pollfd{port_.driver().fd(), POLLIN, 0}, pollfd{other, POLLIN, 0}};
        LinkPause::sleep_until(until_ns, fds);
        channel_.work();
        channel_.attend(monotonic_ns());
    }

    // What the sender went through since the path was made.
    [[nodiscard]] const protocol::Log& log() const noexcept { return log_; }
    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        const ChannelCounts& now = channel_.counts();
        const LinkDropped& dropped = port_.dropped();
        const DriverCopies& copied = port_.driver().copied();
        return {
            {"frames_sent", port_.frames_sent() - frames_sent_before_},
            {"frames_received", port_.frames_received() - frames_received_before_},
            {"driver_copies_sent", copied.sent - copied_before_.sent},
            {"driver_copies_received", copied.received - copied_before_.received},
            {"own_copies_sent", now.copied_sent - before_.copied_sent},
            {"own_copies_received", now.copied_received - before_.copied_received},
            {"packets_received", now.copied_received - before_.copied_received},
            {"packets_sent", now.sent - before_.sent},
            {"packets_resent", now.resent - before_.resent},
            {"packets_duplicate", now.duplicate - before_.duplicate},
            {"packets_out_of_order", now.out_of_order - before_.out_of_order},
            {"packs_sent", now.packs - before_.packs},
            {"nacks_sent", now.nacks - before_.nacks},
            {"timers", now.timers - before_.timers},
            {"timers_late_ns", now.timers_late_ns - before_.timers_late_ns},
            {"strangers", dropped.strangers - dropped_before_.strangers},
            {"malformed", dropped.malformed - dropped_before_.malformed},
            {"no_room", dropped.no_room - dropped_before_.no_room + now.no_room - before_.no_room},
            {"sleeps", pause_.sleeps()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return port_.driver().calls_sent(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept {
        return port_.driver().calls_received();
    }

private:
    static void require_whole(std::size_t bytes, std::size_t expected) {
        if (bytes != expected) {
            throw Failure("data_corrupt", "a message of " + std::to_string(bytes) +
                                              " bytes came where one of " +
                                              std::to_string(expected) + " was to come");
        }
    }

    // Until something came, or a moment.
    void step() {
        if (channel_.work()) {
            pause_.came();
        } else if (pause_.pass(port_.driver().fd(), channel_.next_timer())) {
            channel_.attend(monotonic_ns());
            check_alive();
        }
    }

    void check_alive() const {
        if (interrupted_) {
            throw Failure("timeout", "while frames were sent or waited for");
        }
        std::byte byte{};
        if (::recv(alive_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
            throw Failure("peer_lost", "the other end is gone: its connection has ended");
        }
    }

    LinkPort& port_;
    LinkChannel& channel_;
    LinkPause pause_;
    int alive_;
    const std::atomic<bool>& interrupted_;
    protocol::Log log_;
    ChannelCounts before_;
    LinkDropped dropped_before_;
    DriverCopies copied_before_;
    std::uint64_t frames_sent_before_;
    std::uint64_t frames_received_before_;
};

// The control channel of such a path: while an end waits for the other one's word, it goes on
// answering its frames.
class LinkControl {
public:
    LinkControl(SocketControl& control, LinkReliablePath& path) : control_(control), path_(path) {}

    void send(const Frame& frame) { control_.send(frame); }
    Frame expect(Frame::Kind kind) {
        while (!control_.arrived()) {
            path_.sleep_beside(control_.fd());
        }
        return control_.expect(kind);
    }
    [[nodiscard]] bool arrived() { return control_.arrived(); }

private:
    SocketControl& control_;
    LinkReliablePath& path_;
};

static_assert(ExchangeTransport<LinkReliablePath>);
static_assert(PollableControl<LinkControl>);

} // namespace sonde
