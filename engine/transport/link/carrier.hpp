// Many partners of one process, each with a channel of its own: what a schedule's steps are played
// over. Partners are numbers from 0.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "transport/link/channel.hpp"

namespace sonde {

class LinkCarrier {
public:
    LinkCarrier(LinkPort& port, std::span<const LinkPartner> partners, const ChannelRules& rules,
                std::size_t fragment_bytes)
        : port_(port) {
        for (std::size_t i = 0; i < partners.size(); ++i) {
            port.point(i, partners[i]);
            channels_.emplace_back(port, i, rules, fragment_bytes);
        }
    }

    // As a channel's. One message at a time to each partner, and from each.
    [[nodiscard]] bool try_send(std::size_t partner, std::span<const std::byte> message) {
        return channels_[partner].try_send(message);
    }
    [[nodiscard]] std::optional<std::size_t> try_receive(std::size_t partner,
                                                         std::span<std::byte> message) {
        return channels_[partner].try_receive(message);
    }
    // Takes what has come, answers it, and sends again what is due. False where nothing came.
    bool work() {
        const bool came = port_.deliver_several();
        if (came || ++idle_ % looks_a_reading == 0) {
            attend();
        }
        return came;
    }
    // The same of what the port has already.
    void attend() {
        const protocol::Ticks now = monotonic_ns();
        for (LinkChannel& channel : channels_) {
            channel.attend(now);
        }
    }

    [[nodiscard]] const LinkChannel& channel(std::size_t partner) const noexcept {
        return channels_[partner];
    }
    [[nodiscard]] std::size_t size() const noexcept { return channels_.size(); }
    // Whether everything that was sent has arrived.
    [[nodiscard]] bool done() const noexcept {
        return std::ranges::all_of(channels_,
                                   [](const LinkChannel& channel) { return channel.is_settled(); });
    }
    // When something is to be done though nothing comes.
    [[nodiscard]] protocol::Ticks next_timer() const noexcept {
        protocol::Ticks first = protocol::never;
        for (const LinkChannel& channel : channels_) {
            first = std::min(first, channel.next_timer());
        }
        return first;
    }

private:
    LinkPort& port_;
    std::deque<LinkChannel> channels_;
    unsigned idle_ = 0;
};

} // namespace sonde
