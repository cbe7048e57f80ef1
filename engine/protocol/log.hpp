// What a sender of a protocol went through: its events, and its changes of state.
#pragma once

#include <cstdint>
#include <vector>

namespace sonde::protocol {

using Ticks = std::int64_t; // of the player's clock, whatever its unit is
constexpr Ticks never = INT64_MAX;

enum class Event : std::uint8_t { pack, nack, time_out };
enum class State : std::uint8_t { normal, resend, stall };

struct EventRun { // equal events in a row
    Event event = Event::pack;
    std::int64_t count = 0;
    Ticks at = 0; // of the first
};

struct Move {
    State from = State::normal;
    State to = State::normal;
    Ticks at = 0;
};

class Log {
public:
    void note(Event event, Ticks at) {
        if (runs_.empty() || runs_.back().event != event) {
            runs_.push_back({event, 0, at});
        }
        ++runs_.back().count;
    }
    void move(State from, State to, Ticks at) { moves_.push_back({from, to, at}); }

    [[nodiscard]] const std::vector<EventRun>& runs() const noexcept { return runs_; }
    [[nodiscard]] const std::vector<Move>& moves() const noexcept { return moves_; }

private:
    std::vector<EventRun> runs_;
    std::vector<Move> moves_;
};

} // namespace sonde::protocol
