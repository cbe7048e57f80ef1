// The measured path where a message is written into the other end's memory, which sees that it is
// there by a completion of its own.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>

#include "core/payload.hpp"
#include "transport/libfabric/exposed.hpp"
#include "transport/libfabric/path.hpp"

namespace sonde {

template <class Wait>
class FabricWritePath {
public:
    static constexpr bool datagrams = false;

    FabricWritePath(FabricEndpoint& endpoint, const FabricOptions& options,
                    const MeetingPoint& meeting, const FabricTraffic& traffic,
                    const std::atomic<bool>& interrupted, const Deadline& deadline)
        : endpoint_(endpoint), options_(options), meeting_(meeting), traffic_(traffic),
          queue_(endpoint, meeting, interrupted),
          outbox_(endpoint, options, queue_, {endpoint, options, traffic.message_bytes},
                  traffic.at_once),
          exposed_(endpoint, meeting, traffic.message_bytes, deadline) {}
    ~FabricWritePath() {
        if (!finished_) {
            endpoint_.close();
        }
    }
    FabricWritePath(const FabricWritePath&) = delete;
    FabricWritePath& operator=(const FabricWritePath&) = delete;

    // Its first byte goes with the completion as well: the memory has one place for all messages,
    // and a later one may be there before the other end has looked.
    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++sent_;
        const auto data = std::to_integer<std::uint64_t>(message[0]);
        if (options_.inject && sent_ != traffic_.messages && !settled_) {
            outbox_.inject_write(message, exposed_.other(), data);
            return;
        }
        outbox_.template write<Wait>(message, exposed_.other(), data);
        if (sent_ == traffic_.messages) {
            outbox_.template settle<Wait>();
        }
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        while (queue_.written() == taken_) {
            Wait::wait(queue_);
        }
        ++taken_;
        if (traffic_.content) {
            std::memcpy(message.data(), exposed_.own().data(), message.size());
        }
        return message.size();
    }

    void settle() {
        outbox_.template settle<Wait>();
        settled_ = true; // the next one is the last of a stream
    }
    std::span<std::byte> receive_next(std::span<std::byte> spare) {
        receive(spare, 0);
        const bool is_latest = taken_ == queue_.written();
        spare[0] = static_cast<std::byte>(is_latest ? queue_.last_data() : queue_.first_data());
        return spare;
    }
    void withdraw() {}

    void finish(const Deadline& deadline) {
        settle();
        exposed_.part(queue_, deadline);
        finished_ = true;
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"gave_way", queue_.gave_way()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return outbox_.calls(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return taken_; }

private:
    FabricEndpoint& endpoint_;
    const FabricOptions& options_;
    const MeetingPoint& meeting_;
    FabricTraffic traffic_;
    FabricQueue queue_;
    FabricOutbox outbox_;
    ExposedMemory exposed_;
    std::uint64_t sent_ = 0;
    std::uint64_t taken_ = 0;
    bool settled_ = false;
    bool finished_ = false;
};

static_assert(PostingTransport<FabricWritePath<FabricSpinning>>);

} // namespace sonde
