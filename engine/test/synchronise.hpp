// Pre- and post-synchronisation over the control channel (Hpcbench, section 3.5): each end times
// itself, and each learns the control channel's round trip, so that half of it can be taken off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "test/result.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Between what the peer's clock is ahead of this end's, for certain: a frame cannot arrive before
// it was sent. Where the way is asymmetric the truth need not be in the middle.
struct PeerClock {
    std::int64_t low_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t high_ns = std::numeric_limits<std::int64_t>::max();

    // An exchange: asked and heard by this end's clock, came and answered by the peer's.
    void note(std::int64_t asked_ns, std::int64_t came_ns, std::int64_t answered_ns,
              std::int64_t heard_ns) noexcept {
        high_ns = std::min(high_ns, came_ns - asked_ns);
        low_ns = std::max(low_ns, answered_ns - heard_ns);
    }
};

struct Start {
    std::uint64_t ticks = 0;
    std::uint64_t round_trip_ticks = 0;
    std::uint32_t batch = 0;
    PeerClock peer_clock; // at the origin
};

// SYNC1 and ACKSYNC are exchanged so often. The first exchange waits until both ends are ready and
// is not counted; of the others the shortest is the round trip, for a process that was not
// scheduled at once lengthens it but says nothing of the path.
constexpr int sync_rounds = 8;

// Of a SYNC1 that is not counted, because the ends are only to get into step.
constexpr std::uint16_t settling_exchange = 1;

// Exchanges SYNC1 and ACKSYNC for settle_ns from when both ends are ready. A CPU that was
// busy just before, reading the system's counters, is woken sooner than one that waited, for some
// ten milliseconds; after as many exchanges of frames nothing of that is left.
template <class Clock, ControlChannel Control>
void settle(Control& control, const Frame& sync1, const Timebase& timebase,
            std::int64_t settle_ns) {
    if (settle_ns == 0) {
        return;
    }
    Frame settling = sync1;
    settling.detail = settling_exchange;
    control.send(settling);
    control.expect(Frame::Kind::ack_sync);
    const std::uint64_t settled = Clock::now() + timebase.to_ticks(settle_ns);
    while (Clock::now() < settled) {
        control.send(settling);
        control.expect(Frame::Kind::ack_sync);
    }
}

struct StartManner {
    std::int64_t settle_ns = 0;
    bool silent = false; // SYNC2 is sent before the start is awaited
};

// Settles; sends SYNC1, waits for ACKSYNC, and so on; then calls await_start, starts the clock and
// sends SYNC2.
template <class Clock, ControlChannel Control>
Start synchronise_origin(Control& control, std::uint32_t batch, std::uint64_t fingerprint,
                         const Timebase& timebase, const StartManner& manner,
                         const std::function<void()>& await_start) {
    const Frame sync1{Frame::Kind::sync1, batch, fingerprint};
    settle<Clock>(control, sync1, timebase, manner.settle_ns);
    std::uint64_t shortest = UINT64_MAX;
    PeerClock peer;
    for (int round = 0; round < sync_rounds; ++round) {
        const std::uint64_t asked = Clock::now();
        control.send(sync1);
        const Frame answer = control.expect(Frame::Kind::ack_sync);
        const std::uint64_t heard = Clock::now();
        peer.note(timebase.to_ns(asked), static_cast<std::int64_t>(answer.first),
                  static_cast<std::int64_t>(answer.second), timebase.to_ns(heard));
        if (round > 0) {
            shortest = std::min(shortest, heard - asked);
        }
    }
    if (manner.silent) {
        control.send(Frame{Frame::Kind::sync2});
        await_start();
        return {Clock::now(), shortest, batch, peer};
    }
    await_start();
    const std::uint64_t start = Clock::now();
    control.send(Frame{Frame::Kind::sync2});
    return {start, shortest, batch, peer};
}

// Answers each SYNC1 with ACKSYNC, and starts the clock when SYNC2 is there.
template <class Clock, ControlChannel Control>
Start synchronise_target(Control& control, std::uint64_t fingerprint, const Timebase& timebase) {
    std::uint64_t shortest = UINT64_MAX;
    std::uint64_t answered = 0;
    std::uint32_t batch = 0;
    for (int round = 0; round < sync_rounds;) {
        const Frame sync1 = control.expect(Frame::Kind::sync1);
        const std::uint64_t came = Clock::now();
        if (sync1.second != fingerprint) {
            throw Failure("bad_request", "the two ends were asked for different runs");
        }
        if (round > 1) {
            shortest = std::min(shortest, came - answered);
        }
        batch = static_cast<std::uint32_t>(sync1.first);
        answered = Clock::now();
        control.send(Frame{Frame::Kind::ack_sync, static_cast<std::uint64_t>(timebase.to_ns(came)),
                           static_cast<std::uint64_t>(timebase.to_ns(answered))});
        round += sync1.detail == settling_exchange ? 0 : 1;
    }
    control.expect(Frame::Kind::sync2);
    const std::uint64_t start = Clock::now();
    return {start, std::min(shortest, start - answered), batch, {}};
}

// When a batch began and ended by this end's clock; the origin knows between what the peer's is.
inline void note_boundaries(Result& result, int rank, const Timebase& timebase, const Start& start,
                            std::uint64_t end_ticks) {
    result.counters["start_ns"] = timebase.to_ns(start.ticks);
    result.counters["end_ns"] = timebase.to_ns(end_ticks);
    result.counters["sync_round_trip_ns"] =
        static_cast<std::int64_t>(timebase.duration_ns(start.round_trip_ticks));
    if (rank == 0) {
        result.counters["peer_clock_low_ns"] = start.peer_clock.low_ns;
        result.counters["peer_clock_high_ns"] = start.peer_clock.high_ns;
    }
}

struct Totals {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    EndedBy ended_by = EndedBy::count;
    std::uint64_t held_ns = 0; // received: from the last arrival to saying so
};

template <ControlChannel Control>
void say_sent(Control& control, const Totals& sent) {
    control.send(Frame{Frame::Kind::sent, sent.messages, sent.bytes,
                       static_cast<std::uint16_t>(sent.ended_by)});
}

[[nodiscard]] inline Totals totals_of(const Frame& frame) {
    if (frame.detail > static_cast<std::uint16_t>(EndedBy::samples)) {
        throw Failure("peer_lost", "the other end said something that makes no sense");
    }
    return {frame.first, frame.second, static_cast<EndedBy>(frame.detail)};
}

template <ControlChannel Control>
Totals hear_sent(Control& control) {
    return totals_of(control.expect(Frame::Kind::sent));
}

template <ControlChannel Control>
void say_received(Control& control, const Totals& received) {
    control.send(
        Frame{Frame::Kind::received, received.messages, received.bytes, 0, received.held_ns});
}

template <ControlChannel Control>
Totals hear_received(Control& control) {
    const Frame frame = control.expect(Frame::Kind::received);
    return {frame.first, frame.second, EndedBy::count, frame.third};
}

// A reliable transport that delivered another amount than was sent is broken.
inline void require_complete(const Totals& sent, const Totals& received) {
    if (sent.messages != received.messages || sent.bytes != received.bytes) {
        throw Failure("data_corrupt",
                      std::to_string(sent.bytes) + " bytes in " + std::to_string(sent.messages) +
                          " messages were sent and " + std::to_string(received.bytes) +
                          " bytes in " + std::to_string(received.messages) + " came out");
    }
}

} // namespace sonde
