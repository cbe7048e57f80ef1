#include "transport/link/channel.hpp"

#include <bit>
#include <cstring>

#include "core/clock.hpp"

namespace sonde {
LinkChannel::LinkChannel(LinkPort& port, std::size_t endpoint, const ChannelRules& rules,
                         std::size_t fragment_bytes)
    : port_(port), endpoint_(endpoint), rules_(rules), fragment_bytes_(fragment_bytes),
      mask_(std::bit_ceil(rules.sends.window_packets) - 1), memory_((mask_ + 1) * fragment_bytes),
      kept_(mask_ + 1), most_accepted_(std::max<std::size_t>(
                            port.driver().slots() / 4 * 3 / port.numbers().count, 1)) {
    sender_.reserve(mask_ + 1);
}

bool LinkChannel::work() {
    const bool came = port_.deliver_several();
    if (came || ++idle_ % looks_a_reading == 0) {
        attend(monotonic_ns());
    }
    return came;
}

void LinkChannel::attend(protocol::Ticks now) {
    while (const auto segment = port_.next(endpoint_)) {
        take(*segment, now);
    }
    look_at_timers(now);
    send_again(now);
    if (unsaid_) {
        say(*unsaid_);
    }
}

void LinkChannel::take(const LinkSegment& segment, protocol::Ticks now) {
    const LinkHeader& header = segment.header;
    if (header.kind == FrameKind::data) {
        take_data(segment, now);
        return;
    }
    if (header.kind == FrameKind::pack) {
        sender_.take_pack(whole(header.answer, sender_.base()), now, log_);
    } else if (header.kind == FrameKind::nack) {
        sender_.take_nack(whole(header.answer, sender_.base()), now, log_);
    }
    port_.release(segment);
}

void LinkChannel::take_data(const LinkSegment& segment, protocol::Ticks now) {
    const LinkHeader& header = segment.header;
    if (header.answers) {
        sender_.take_pack(whole(header.answer, sender_.base()), now, log_);
    }
    if (accepted_.size() >= most_accepted_) { // as if it had been lost: it is sent again
        ++counts_.no_room;
        port_.release(segment);
        return;
    }
    const protocol::Sequence number = whole(header.sequence, receiver_.expected());
    const protocol::Taken taken = receiver_.take(number, rules_.answers, now);
    if (taken.timer_at != protocol::never) {
        answer_timer_ = taken.timer_at;
    }
    if (taken.answer != protocol::Answer::none) {
        say(taken.answer == protocol::Answer::pack ? FrameKind::pack : FrameKind::nack);
    }
    if (taken.arrival == protocol::Arrival::accepted) {
        accepted_.push_back(segment);
        return;
    }
    ++(taken.arrival == protocol::Arrival::duplicate ? counts_.duplicate : counts_.out_of_order);
    port_.release(segment);
}

void LinkChannel::note_late(protocol::Ticks late_ns) noexcept {
    ++counts_.timers;
    counts_.timers_late_ns += static_cast<std::uint64_t>(late_ns);
}

void LinkChannel::look_at_timers(protocol::Ticks now) {
    if (now >= send_timer_) {
        note_late(now - send_timer_);
        send_timer_ = sender_.on_timer(rules_.sends, now, log_).timer_at;
    }
    if (now >= answer_timer_) {
        note_late(now - answer_timer_);
        answer_timer_ = protocol::never;
        if (receiver_.on_timer()) {
            say(FrameKind::pack);
        }
    }
}

void LinkChannel::send_again(protocol::Ticks now) {
    while (sender_.has_resend() && port_.driver().has_room()) {
        ++counts_.resent;
        const protocol::Sent sent = sender_.send_again(rules_.sends, now, log_);
        note_timer(sent);
        // What finds no room even so is as lost: it is sent again after its time.
        static_cast<void>(put(sent.number));
    }
}

// False where the host has no room for it at the moment.
bool LinkChannel::put(protocol::Sequence number) {
    const Kept& kept = kept_[number & mask_];
    LinkHeader header;
    header.kind = FrameKind::data;
    header.last = kept.last;
    header.sequence = static_cast<std::uint16_t>(number & LinkHeader::sequence_mask);
    header.answers = receiver_.may_answer_along();
    header.answer = static_cast<std::uint16_t>(receiver_.expected() & LinkHeader::sequence_mask);
    if (!port_.send(endpoint_, header, {memory_of(number), kept.bytes})) {
        return false;
    }
    static_cast<void>(receiver_.answers_along());
    return true;
}

void LinkChannel::note_timer(const protocol::Sent& sent) noexcept {
    if (sent.timer_at != protocol::never) {
        send_timer_ = sent.timer_at;
    }
}

// What finds no room is said later, with what is expected then.
void LinkChannel::say(FrameKind kind) {
    LinkHeader header;
    header.kind = kind;
    header.answer = static_cast<std::uint16_t>(receiver_.expected() & LinkHeader::sequence_mask);
    if (!port_.send(endpoint_, header, {})) {
        unsaid_ = kind;
        return;
    }
    unsaid_.reset();
    ++(kind == FrameKind::pack ? counts_.packs : counts_.nacks);
}

bool LinkChannel::try_send(std::span<const std::byte> message) {
    const bool is_new = sent_bytes_ == 0;
    for (bool first = is_new; first || sent_bytes_ < message.size(); first = false) {
        if (!sender_.may_send_new(rules_.sends)) {
            return false;
        }
        const std::size_t piece = std::min(message.size() - sent_bytes_, fragment_bytes_);
        const protocol::Sequence number = sender_.next();
        if (piece != 0) {
            std::memcpy(memory_of(number), message.data() + sent_bytes_, piece);
        }
        kept_[number & mask_] = {static_cast<std::uint32_t>(piece),
                                 sent_bytes_ + piece == message.size()};
        if (!put(number)) {
            return false;
        }
        ++counts_.sent;
        ++counts_.copied_sent;
        note_timer(sender_.send_new(rules_.sends, monotonic_ns(), 0));
        sent_bytes_ += piece;
    }
    sent_bytes_ = 0;
    return true;
}

std::optional<std::size_t> LinkChannel::try_receive(std::span<std::byte> message) {
    while (!accepted_.empty()) {
        const LinkSegment segment = accepted_.front();
        accepted_.pop_front();
        const std::size_t room = message.size() - std::min(received_bytes_, message.size());
        const std::size_t taken = std::min(room, segment.content.size());
        if (taken != 0) {
            std::memcpy(message.data() + received_bytes_, segment.content.data(), taken);
        }
        ++counts_.copied_received;
        received_bytes_ += segment.content.size();
        port_.release(segment);
        if (segment.header.last) {
            return std::exchange(received_bytes_, 0);
        }
    }
    return std::nullopt;
}

} // namespace sonde
