// The messages of one rank's schedule over frames: what schedule::Execution wants of a carrier.
//
// `Frames` has a carrier(), a LinkCarrier with a partner for each rank, and step(), which returns
// when something came or was due. `Join` joins two operands of so many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "transport/link/carrier.hpp"

namespace sonde {

template <class Frames, class Join>
class LinkMessages {
public:
    // `awaits_arrival`: a send is complete when the other rank has acknowledged all of it, not when
    // it is on its way.
    LinkMessages(Frames& frames, int ranks, bool awaits_arrival, Join join)
        : frames_(&frames), awaits_arrival_(awaits_arrival), join_(std::move(join)),
          of_peers_(static_cast<std::size_t>(ranks)) {}

    void send(std::span<const std::byte> bytes, int peer, std::int64_t number) {
        of(peer).out.push_back({bytes, number});
        ++pending_;
        go_on_sending(static_cast<std::size_t>(peer));
    }

    void receive(std::span<std::byte> bytes, int peer, std::int64_t number) {
        of(peer).in.push_back({bytes, number});
        ++pending_;
    }

    void combine(const std::byte* left, std::byte* into, std::size_t bytes) const {
        join_(left, into, bytes);
    }

    // One at least is complete then, or nothing was begun; nobody needs all at once.
    template <class Completed>
    void wait(bool /*all*/, Completed completed) {
        look();
        while (done_.empty() && pending_ != 0) {
            frames_->step();
            look();
        }
        pending_ -= done_.size();
        for (const std::int64_t number : std::exchange(done_, {})) {
            completed(number);
        }
    }

private:
    template <class Byte>
    struct Message {
        std::span<Byte> bytes;
        std::int64_t number = 0;
    };
    struct OnItsWay {
        protocol::Sequence end = 0;
        std::int64_t number = 0;
    };
    struct Peer { // messages in the order in which they were begun
        std::deque<Message<const std::byte>> out;
        std::deque<OnItsWay> under_way;
        std::deque<Message<std::byte>> in;
    };

    [[nodiscard]] Peer& of(int peer) { return of_peers_[static_cast<std::size_t>(peer)]; }

    void look() {
        for (std::size_t peer = 0; peer < of_peers_.size(); ++peer) {
            go_on_sending(peer);
            go_on_receiving(peer);
        }
    }

    void go_on_sending(std::size_t peer) {
        Peer& to = of_peers_[peer];
        LinkCarrier& carrier = frames_->carrier();
        while (!to.out.empty() && carrier.try_send(peer, to.out.front().bytes)) {
            if (awaits_arrival_) {
                to.under_way.push_back({carrier.channel(peer).end(), to.out.front().number});
            } else {
                done_.push_back(to.out.front().number);
            }
            to.out.pop_front();
        }
        while (!to.under_way.empty() &&
               carrier.channel(peer).has_arrived(to.under_way.front().end)) {
            done_.push_back(to.under_way.front().number);
            to.under_way.pop_front();
        }
    }

    void go_on_receiving(std::size_t peer) {
        Peer& from = of_peers_[peer];
        while (!from.in.empty()) {
            const auto& [memory, number] = from.in.front();
            const auto bytes = frames_->carrier().try_receive(peer, memory);
            if (!bytes) {
                return;
            }
            if (*bytes != memory.size()) {
                throw Failure("data_corrupt", "a message of " + std::to_string(*bytes) +
                                                  " bytes came where a schedule has one of " +
                                                  std::to_string(memory.size()));
            }
            done_.push_back(number);
            from.in.pop_front();
        }
    }

    Frames* frames_;
    bool awaits_arrival_;
    Join join_;
    std::vector<Peer> of_peers_;
    std::vector<std::int64_t> done_;
    std::size_t pending_ = 0; // begun and not handed over
};

} // namespace sonde
