// The measured path where messages are sent and received.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>

#include "transport/libfabric/inbox.hpp"
#include "transport/libfabric/outbox.hpp"
#include "transport/transport.hpp"

namespace sonde {

// What one end sends and receives in one batch.
struct FabricTraffic {
    std::size_t message_bytes = 0;
    std::size_t at_once = 1;    // messages that may be on their way
    std::size_t receives = 0;   // that are posted before their messages come
    std::uint64_t messages = 0; // of each way, where that is known; else 0
    bool content = false;       // somebody looks at what comes
};

// Messages come into memory of the path, which the provider was told of beforehand, as programs
// have it that use a fabric. They are copied to where a test wants them only if it looks at them.
template <class Wait>
class FabricPath {
public:
    static constexpr bool datagrams = false;

    FabricPath(FabricEndpoint& endpoint, const FabricOptions& options, const MeetingPoint& meeting,
               const FabricTraffic& traffic, const std::atomic<bool>& interrupted)
        : endpoint_(endpoint), options_(options), meeting_(meeting), traffic_(traffic),
          queue_(endpoint, meeting, interrupted),
          outbox_(endpoint, options, queue_, {endpoint, options, traffic.message_bytes},
                  traffic.at_once),
          inbox_(endpoint, options, queue_, {endpoint, options, traffic.message_bytes},
                 traffic.message_bytes, traffic.receives, traffic.messages) {}
    // What failed leaves messages on their way: the endpoint must not look at their memory, which
    // ends now.
    ~FabricPath() {
        if (!finished_) {
            endpoint_.close();
        }
    }
    FabricPath(const FabricPath&) = delete;
    FabricPath& operator=(const FabricPath&) = delete;

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++sent_;
        // What is injected has no completion. Some providers go on with it only while they are
        // asked, and behind the last message, which a stream settles for, nobody asks.
        if (options_.inject && sent_ != traffic_.messages && !settled_) {
            outbox_.inject(message);
            return;
        }
        outbox_.template send<Wait>(message);
        if (sent_ == traffic_.messages) {
            outbox_.template settle<Wait>();
        }
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        const std::span<const std::byte> came = inbox_.template next<Wait>();
        if (traffic_.content) {
            std::memcpy(message.data(), came.data(), came.size());
        }
        inbox_.release();
        return came.size();
    }

    void exchange(std::span<const std::byte> out, std::span<std::byte> in) {
        outbox_.template send<Wait>(out);
        const std::span<const std::byte> came = inbox_.template next<Wait>();
        in[0] = came[0]; // where the last one has its mark
        if (traffic_.content) {
            std::memcpy(in.data(), came.data(), came.size());
        }
        inbox_.release();
        outbox_.template settle<Wait>();
    }

    void settle() {
        outbox_.template settle<Wait>();
        settled_ = true;
    }
    std::span<std::byte> receive_next(std::span<std::byte> /*spare*/) {
        return inbox_.template next<Wait>();
    }
    void withdraw() {}

    // Behind a batch: receives that are still posted get a message each, so that none of them is
    // there in the next batch.
    void finish(const Deadline& deadline) {
        settle();
        meeting_.say(FabricCard{.kind = FabricCard::Kind::left, .bytes = inbox_.left()});
        const FabricCard other = meeting_.hear(FabricCard::Kind::left, deadline);
        FabricOutbox fillers(endpoint_, options_, queue_, {endpoint_, options_, 1}, 1);
        const std::byte filler{};
        for (std::uint64_t i = 0; i < other.bytes; ++i) {
            fillers.template send<Wait>({&filler, 1});
        }
        fillers.template settle<Wait>();
        while (inbox_.left() != 0) {
            Wait::wait(queue_);
        }
        meeting_.say(FabricCard{.kind = FabricCard::Kind::done});
        while (!meeting_.has_card()) {
            queue_.look(); // the other end may need it
        }
        (void)meeting_.hear(FabricCard::Kind::done, deadline);
        finished_ = true;
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"gave_way", queue_.gave_way()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return outbox_.calls(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return inbox_.calls(); }

private:
    FabricEndpoint& endpoint_;
    const FabricOptions& options_;
    const MeetingPoint& meeting_;
    FabricTraffic traffic_;
    FabricQueue queue_;
    FabricOutbox outbox_;
    FabricInbox inbox_;
    std::uint64_t sent_ = 0;
    bool settled_ = false;
    bool finished_ = false;
};

static_assert(PostingTransport<FabricPath<FabricSpinning>>);
static_assert(ExchangeTransport<FabricPath<FabricSpinning>>);

} // namespace sonde
