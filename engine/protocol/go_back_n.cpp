#include "protocol/go_back_n.hpp"

#include <algorithm>
#include <bit>

namespace sonde::protocol {

namespace {

constexpr std::uint32_t least_room = 8;

} // namespace

// ---- the sender

void Sender::reserve(std::uint32_t packets) {
    if (packets > room()) {
        grow(std::bit_ceil(packets));
    }
}

// By doubling: most pairs of a complete exchange never have many packets under way.
void Sender::grow(std::uint32_t room) {
    room = std::max(room, least_room);
    auto more = std::make_unique<Slot[]>(room); // NOLINT(*-avoid-c-arrays)
    for (Sequence number = base_; number != next_; ++number) {
        more[number & (room - 1)] = slot(number);
    }
    slots_ = std::move(more);
    mask_ = room - 1;
}

void Sender::enter(State to, Ticks now, Log* log) {
    if (log != nullptr && state_ != to) {
        log->move(state_, to, now);
    }
    state_ = to;
}

void Sender::mark(Sequence number) noexcept {
    if (slot(number).deadline == waiting) {
        return;
    }
    slot(number).deadline = waiting;
    if (waiting_ == 0 || is_before(number, cursor_)) {
        cursor_ = number;
    }
    ++waiting_;
}

void Sender::mark_all() noexcept {
    for (Sequence number = base_; number != next_; ++number) {
        mark(number);
    }
}

Sent Sender::send_again(const SendRules& rules, Ticks now, Log* log) {
    while (slot(cursor_).deadline != waiting) {
        ++cursor_;
    }
    const Sequence number = cursor_++;
    const Ticks deadline = now + rules.timeout;
    slot(number).deadline = deadline;
    --waiting_;
    if (waiting_ == 0 && state_ == State::resend) {
        enter(unstalled_ ? State::normal : State::stall, now, log);
    }
    return {number, slot(number).kept, start_timer(deadline)};
}

Sender::Missed Sender::take_nack(Sequence number, Ticks now, Log* log) {
    const std::uint32_t acknowledged = number - base_;
    if (acknowledged >= outstanding()) { // overtaken by what it asks for, or never sent
        return {};
    }
    if (log != nullptr) {
        log->note(Event::nack, now);
    }
    slide(number);
    enter(State::resend, now, log);
    unstalled_ = false;
    mark_all();
    return {true, acknowledged};
}

TimedOut Sender::on_timer(const SendRules& rules, Ticks now, Log* log) {
    timer_set_ = false;
    TimedOut out = look_at_all(now);
    // Those behind the first run out with it: that is one event.
    if (out.batch && log != nullptr) {
        log->note(Event::time_out, now);
    }
    if (out.batch && !rules.nacks) {
        mark_all();
        out.timer_at = never; // each has a timer again when it is sent again
    }
    if (out.timer_at != never) {
        out.timer_at = start_timer(out.timer_at);
    }
    return out;
}

// Marks those whose time is over, and finds when the next one's is.
TimedOut Sender::look_at_all(Ticks now) {
    TimedOut out;
    for (Sequence number = base_; number != next_; ++number) {
        const Ticks deadline = slot(number).deadline;
        if (deadline == waiting) {
            continue;
        }
        if (deadline > now) {
            out.timer_at = std::min(out.timer_at, deadline);
            continue;
        }
        out.batch = out.batch || number == base_;
        ++out.packets;
        mark(number);
    }
    return out;
}

// ---- the receiver

Taken Receiver::take_other(Sequence number, const AnswerRules& rules) noexcept {
    if (is_before(number, expected_)) { // the acknowledgement may have been lost
        unanswered_ = 0;
        return {Arrival::duplicate, Answer::pack, never};
    }
    const bool says = rules.nacks && !missing_; // one Nack for each gap
    missing_ = missing_ || says;
    unanswered_ = says ? 0 : unanswered_;
    return {Arrival::out_of_order, says ? Answer::nack : Answer::none, never};
}

} // namespace sonde::protocol
