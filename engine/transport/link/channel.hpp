// Messages that come once and in order: Go-Back-N on the frames of one endpoint. Its numbers are of
// 14 bits there; a window is far smaller, so the rest can be told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/go_back_n.hpp"
#include "transport/link/channel_rules.hpp"
#include "transport/link/port.hpp"

namespace sonde {

struct ChannelCounts {
    std::uint64_t sent = 0; // packets, the first time
    std::uint64_t resent = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t no_room = 0; // in order, but more than may lie here
    std::uint64_t packs = 0;   // that were sent alone
    std::uint64_t nacks = 0;
    std::uint64_t timers = 0; // that ran out, and how late that was seen, in all
    std::uint64_t timers_late_ns = 0;
    std::uint64_t copied_sent = 0;
    std::uint64_t copied_received = 0;
};

class LinkChannel {
public:
    LinkChannel(LinkPort& port, std::size_t endpoint, const ChannelRules& rules,
                std::size_t fragment_bytes);

    // Takes what has come, answers it, and sends again what is due. False where nothing came.
    bool work();
    // The same of what the port has given to the endpoint already.
    void attend(protocol::Ticks now);
    // Goes on sending a message; true where all of it is on its way, and its memory may change.
    [[nodiscard]] bool try_send(std::span<const std::byte> message);
    // Goes on receiving one; its bytes where all of it has come.
    [[nodiscard]] std::optional<std::size_t> try_receive(std::span<std::byte> message);
    // How what comes from now on is answered.
    void answer_by(const protocol::AnswerRules& answers) noexcept { rules_.answers = answers; }

    [[nodiscard]] bool is_settled() const noexcept { return sender_.outstanding() == 0; }
    // A number behind all packets that were sent, and whether all before it have been acknowledged.
    [[nodiscard]] protocol::Sequence end() const noexcept { return sender_.next(); }
    [[nodiscard]] bool has_arrived(protocol::Sequence end) const noexcept {
        return !protocol::is_before(sender_.base(), end);
    }
    // When something is to be done though nothing comes.
    [[nodiscard]] protocol::Ticks next_timer() const noexcept {
        return std::min(send_timer_, answer_timer_);
    }
    // What happens from now on is noted there; null: nowhere.
    void note_in(protocol::Log* log) noexcept { log_ = log; }
    [[nodiscard]] const ChannelCounts& counts() const noexcept { return counts_; }

private:
    struct Kept { // of a packet until it is acknowledged
        std::uint32_t bytes = 0;
        bool last = false;
    };

    void take(const LinkSegment& segment, protocol::Ticks now);
    void take_data(const LinkSegment& segment, protocol::Ticks now);
    void look_at_timers(protocol::Ticks now);
    void note_late(protocol::Ticks late_ns) noexcept;
    void send_again(protocol::Ticks now);
    [[nodiscard]] bool put(protocol::Sequence number);
    void note_timer(const protocol::Sent& sent) noexcept;
    void say(FrameKind kind);
    [[nodiscard]] std::byte* memory_of(protocol::Sequence number) noexcept {
        return memory_.data() + (number & mask_) * fragment_bytes_;
    }
    // The number of which a frame has 14 bits, the one that is next to `near`.
    [[nodiscard]] static protocol::Sequence whole(std::uint16_t bits,
                                                  protocol::Sequence near) noexcept {
        constexpr std::uint32_t half = (LinkHeader::sequence_mask + 1) / 2;
        const std::uint32_t ahead = (bits - near + half) & LinkHeader::sequence_mask;
        return near + ahead - half;
    }

    LinkPort& port_;
    std::size_t endpoint_;
    ChannelRules rules_;
    std::size_t fragment_bytes_;
    std::uint32_t mask_;
    std::vector<std::byte> memory_; // of what is outstanding, by number
    std::vector<Kept> kept_;
    protocol::Sender sender_;
    protocol::Receiver receiver_;
    protocol::Ticks send_timer_ = protocol::never;
    protocol::Ticks answer_timer_ = protocol::never;
    protocol::Log* log_ = nullptr;
    std::optional<FrameKind> unsaid_; // an answer that found no room
    std::deque<LinkSegment> accepted_;
    std::size_t most_accepted_;
    std::size_t sent_bytes_ = 0;     // of the message that is being sent
    std::size_t received_bytes_ = 0; // of the one that is being received
    unsigned idle_ = 0;
    ChannelCounts counts_;
};

} // namespace sonde
