// Go-Back-N as a state machine. A packet or a timer and the time go in; what is to be sent, handed
// on or timed comes out. It has no clock and knows no packets: the simulator plays it in virtual
// time, others on frames.
//
// A. Tam, 2001, section 4.2.1. The sender is Normal, sends again (ReSend) or waits (Stall); each
// packet has a static timer; the receiver sends one Nack for each gap. Settled here, as the source
// leaves it open: a packet below the expected number is answered with a Pack; a Pack that comes
// while packets are sent again ends the Stall before it begins. Without Nacks it is simple
// Go-Back-N: when the timer of the first outstanding packet runs out, all that are outstanding are
// sent again, before anything new, since the receiver has dropped whatever came after a gap.
//
// Numbers wrap: what matters is how far they are apart, and a window is at most 65,536 packets.
// Memory is taken while a window opens for the first time, none for each packet.
#pragma once

#include <cstdint>
#include <memory>

#include "protocol/log.hpp"

namespace sonde::protocol {

using Sequence = std::uint32_t;
constexpr std::uint32_t most_window_packets = 65'536;

[[nodiscard]] constexpr bool is_before(Sequence a, Sequence b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

// Of a sender, the same for all its life.
struct SendRules {
    std::uint32_t window_packets = 16;
    Ticks timeout = 0;
    bool nacks = true; // false: simple Go-Back-N
};

// What is to be done about a packet that goes out.
struct Sent {
    Sequence number = 0;
    std::uint64_t kept = 0; // the player's own, of when it was sent first
    Ticks timer_at = never; // never: a timer is set already
};

// What is to be done after a timer.
struct TimedOut {
    std::uint32_t packets = 0; // whose timers ran out
    bool batch = false;        // the first outstanding packet is one of them
    Ticks timer_at = never;    // never: nothing is outstanding
};

class Sender {
public:
    explicit Sender(Sequence first = 0) noexcept : next_(first), base_(first) {}

    // Room for so many outstanding packets at once; else it grows as it is needed.
    void reserve(std::uint32_t packets);

    // What is sent again comes before what is new.
    [[nodiscard]] bool has_resend() const noexcept { return waiting_ > 0; }
    [[nodiscard]] bool may_send_new(const SendRules& rules) const noexcept {
        return state_ == State::normal && waiting_ == 0 && outstanding() < rules.window_packets;
    }
    [[nodiscard]] Sent send_again(const SendRules& rules, Ticks now, Log* log);
    [[nodiscard]] Sent send_new(const SendRules& rules, Ticks now, std::uint64_t kept);

    // Everything before `number` has arrived. How many packets that acknowledges: 0 where it says
    // nothing new, or names what was never sent.
    std::uint32_t take_pack(Sequence number, Ticks now, Log* log);
    // The receiver misses `number`. Whether it counts: it may have been overtaken.
    struct Missed {
        bool counts = false;
        std::uint32_t acknowledged = 0;
    };
    Missed take_nack(Sequence number, Ticks now, Log* log);
    // For the timer that was asked for last. One that comes early only looks.
    TimedOut on_timer(const SendRules& rules, Ticks now, Log* log);

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] Sequence base() const noexcept { return base_; } // first outstanding
    [[nodiscard]] Sequence next() const noexcept { return next_; } // first that was never sent
    [[nodiscard]] std::uint32_t outstanding() const noexcept { return next_ - base_; }
    // Whether a receiver may expect it: no later than the next.
    [[nodiscard]] bool may_be_expected(Sequence number) const noexcept {
        return !is_before(next_, number);
    }

private:
    static constexpr Ticks waiting = INT64_MIN; // its turn to be sent again

    struct Slot { // of an outstanding packet
        Ticks deadline = 0;
        std::uint64_t kept = 0;
    };

    [[nodiscard]] Slot& slot(Sequence number) noexcept { return slots_[number & mask_]; }
    [[nodiscard]] std::uint32_t room() const noexcept { return slots_ ? mask_ + 1 : 0; }
    void grow(std::uint32_t room);
    [[nodiscard]] Ticks start_timer(Ticks deadline) noexcept {
        const bool was_set = timer_set_;
        timer_set_ = true;
        return was_set ? never : deadline;
    }
    void mark(Sequence number) noexcept;
    void mark_all() noexcept;
    void slide(Sequence number) noexcept;
    void enter(State to, Ticks now, Log* log);
    [[nodiscard]] TimedOut look_at_all(Ticks now);

    // Base to next, by number modulo a power of two. A vector would take three words of the one
    // line of memory that a pair of hosts has.
    std::unique_ptr<Slot[]> slots_; // NOLINT(*-avoid-c-arrays)
    Sequence next_;
    Sequence base_;
    std::uint32_t waiting_ = 0; // slots whose turn it is to be sent again
    Sequence cursor_ = 0;       // none of them is before it
    std::uint32_t mask_ = 0;
    State state_ = State::normal;
    bool unstalled_ = false; // a Pack came while it was sending again
    bool timer_set_ = false;
};

enum class Acknowledge : std::uint8_t { immediate, delayed, piggyback };

// How one packet is to be answered: each call may have its own.
struct AnswerRules {
    Acknowledge way = Acknowledge::immediate;
    std::uint32_t delay_packets = 2; // at the latest after so many packets
    Ticks delay = 0;                 // and so long
    bool nacks = true;               // false: simple Go-Back-N
};

enum class Answer : std::uint8_t { none, pack, nack };
enum class Arrival : std::uint8_t { accepted, duplicate, out_of_order };

struct Taken {
    Arrival arrival = Arrival::accepted;
    Answer answer = Answer::none; // with the number that is expected()
    Ticks timer_at = never;       // of a late answer; never: one is set already, or none is needed
};

// Of one sender, as its partner sees it.
class Receiver {
public:
    explicit Receiver(Sequence first = 0) noexcept : expected_(first) {}

    [[nodiscard]] Taken take(Sequence number, const AnswerRules& rules, Ticks now) noexcept {
        if (number != expected_) {
            return take_other(number, rules);
        }
        ++expected_;
        ++unanswered_;
        missing_ = false;
        along_ = rules.way == Acknowledge::piggyback;
        if (rules.way == Acknowledge::immediate || unanswered_ >= rules.delay_packets) {
            unanswered_ = 0;
            return {Arrival::accepted, Answer::pack, never};
        }
        const bool was_set = timer_set_;
        timer_set_ = true;
        return {Arrival::accepted, Answer::none, was_set ? never : now + rules.delay};
    }

    // For the timer that was asked for last: whether a Pack is due.
    [[nodiscard]] bool on_timer() noexcept {
        timer_set_ = false;
        const bool owed = unanswered_ > 0;
        unanswered_ = 0;
        return owed;
    }
    // A packet may go the other way: whether it would take a Pack along.
    [[nodiscard]] bool may_answer_along() const noexcept { return along_ && unanswered_ > 0; }
    // It goes: whether it takes one.
    [[nodiscard]] bool answers_along() noexcept {
        const bool owed = may_answer_along();
        unanswered_ = owed ? 0 : unanswered_;
        return owed;
    }

    [[nodiscard]] Sequence expected() const noexcept { return expected_; }
    [[nodiscard]] bool is_missing() const noexcept { return missing_; }

private:
    [[nodiscard]] Taken take_other(Sequence number, const AnswerRules& rules) noexcept;

    Sequence expected_;
    std::uint32_t unanswered_ = 0; // accepted
    bool missing_ = false;         // a Nack was sent for the one that is expected
    bool along_ = false;           // what is unanswered may be answered by a packet that goes back
    bool timer_set_ = false;
};

// ---- what every packet goes through

inline Sent Sender::send_new(const SendRules& rules, Ticks now, std::uint64_t kept) {
    if (outstanding() >= room()) {
        grow(2 * room());
    }
    const Sequence number = next_++;
    const Ticks deadline = now + rules.timeout;
    slot(number) = {deadline, kept};
    return {number, kept, start_timer(deadline)};
}

inline std::uint32_t Sender::take_pack(Sequence number, Ticks now, Log* log) {
    const std::uint32_t acknowledged = number - base_;
    if (acknowledged - 1 >= outstanding()) { // none, or more than there are
        return 0;
    }
    if (log != nullptr) {
        log->note(Event::pack, now);
    }
    slide(number);
    unstalled_ = true;
    if (state_ == State::stall || (state_ == State::resend && waiting_ == 0)) {
        enter(State::normal, now, log);
    }
    return acknowledged;
}

inline void Sender::slide(Sequence number) noexcept {
    if (waiting_ == 0) {
        base_ = number;
        return;
    }
    for (; base_ != number; ++base_) {
        waiting_ -= slot(base_).deadline == waiting ? 1U : 0U;
    }
    cursor_ = is_before(cursor_, number) ? number : cursor_;
}

} // namespace sonde::protocol
