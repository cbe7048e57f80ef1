// Many partners of one process, each with a channel of its own: what a schedule's steps are played
// over. Partners are numbers from 0.
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "transport/link/channel.hpp"

namespace sonde {

class LinkCarrier {
public:
    LinkCarrier(LinkPort& port, std::span<const LinkPartner> partners, const ChannelRules& rules,
                std::size_t fragment_bytes) {
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
    void work() {
        for (LinkChannel& channel : channels_) {
            channel.work();
        }
    }
    // Whether everything that was sent has arrived.
    [[nodiscard]] bool done() const noexcept {
        return std::ranges::all_of(channels_,
                                   [](const LinkChannel& channel) { return channel.is_settled(); });
    }

private:
    std::deque<LinkChannel> channels_;
};

} // namespace sonde
