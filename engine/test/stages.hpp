// Where the time of a round trip goes: its stages at one end, from the kernel's stamps and the
// program's own clock.
//
// The stamps are of CLOCK_REALTIME. Between two exchanges both clocks are read together; what lies
// in between is converted on the line through the two readings. So each stage has two ends on one
// clock of one host, and the two hosts' clocks are never compared.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/clock.hpp"
#include "test/result.hpp"
#include "transport/transport.hpp"

namespace sonde {

[[nodiscard]] inline std::int64_t real_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The program's clock and CLOCK_REALTIME at one instant, within half the width.
struct ClockPair {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
    std::uint64_t width_ticks = 0;
};

// The narrowest of a few brackets: an interrupt between two readings widens its bracket.
template <class Clock>
[[nodiscard]] ClockPair pair_clocks() noexcept {
    constexpr int attempts = 3;
    ClockPair best{0, 0, std::numeric_limits<std::uint64_t>::max()};
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t before = Clock::now();
        const std::int64_t ns = real_ns();
        const std::uint64_t width = Clock::now() - before;
        if (width < best.width_ticks) {
            best = {before + width / 2, ns, width};
        }
    }
    return best;
}

// One message at one end. Origin: `first` is before its send, `second` after the receive of its
// answer. Target: `first` is after its receive, `second` before the send of the answer.
struct NotedExchange {
    std::uint32_t index = 0;
    std::uint32_t sent = 0; // how many were sent before it
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::int64_t arrival_ns = 0;
    ClockPair before;
    ClockPair after;
};

// The stages of one message at one end, ns. What the driver gave away and got back is another's.
struct Stages {
    std::int64_t send_to_queue_ns = 0;
    std::int64_t queue_to_driver_ns = 0;
    std::int64_t between_ns = 0; // origin: driver to arrival; target: receive to send
    std::int64_t driver_to_receive_ns = 0;
};

// Why a message has no stages.
struct StagesMissing {
    std::uint64_t queue = 0;      // no stamp of the queue
    std::uint64_t driver = 0;     // none of the driver
    std::uint64_t arrival = 0;    // none of the arrival
    std::uint64_t sent_again = 0; // the driver got it twice: which of them arrived is not known
    std::uint64_t clock = 0; // a clock was set meanwhile, or the two could not be read together
    std::int64_t worst_pairing_ns = 0; // of those that count: half a bracket
};

// The stages of an exchange, or nothing and why.
[[nodiscard]] std::optional<Stages> split(const NotedExchange& exchange, const MessageStamps& sent,
                                          bool at_origin, double tick_ns, StagesMissing& missing);

// Notes every exchange of a batch, outside its timed part.
class StageRecorder {
public:
    static constexpr bool active = true;

    explicit StageRecorder(std::uint64_t messages) { exchanges_.reserve(messages); }

    template <class Clock>
    void begin() noexcept {
        last_ = pair_clocks<Clock>();
    }

    // After a message was sent and its answer, or nothing, was received; or the other way round.
    template <class Clock, StampedTransport Path>
    void note(Path& path, std::uint32_t index, std::uint64_t first, std::uint64_t second,
              bool answered = true) noexcept {
        const ClockPair before = last_;
        path.collect_stamps();
        last_ = pair_clocks<Clock>();
        if (answered && exchanges_.size() < exchanges_.capacity()) {
            exchanges_.push_back({index, sent_, first, second, path.arrival_ns(), before, last_});
        }
        ++sent_;
    }

    template <StampedTransport Path>
    void report(Result& result, Path& path, bool at_origin, const Timebase& timebase) const {
        path.await_stamps();
        write(result, path.stamps(), at_origin, timebase);
    }

private:
    void write(Result& result, std::span<const MessageStamps> sent, bool at_origin,
               const Timebase& timebase) const;

    std::vector<NotedExchange> exchanges_;
    ClockPair last_;
    std::uint32_t sent_ = 0;
};

struct NoStages {
    static constexpr bool active = false;
    explicit NoStages(std::uint64_t /*messages*/) {}
};

template <class Path>
using StagesOver = std::conditional_t<StampedTransport<Path>, StageRecorder, NoStages>;

} // namespace sonde
