// Datagrams over an endpoint: their receives stay posted for as long as the endpoint lives, since
// nobody knows what will still come.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/payload.hpp"
#include "transport/libfabric/outbox.hpp"
#include "transport/transport.hpp"

namespace sonde {

class FabricDatagramInbox {
public:
    explicit FabricDatagramInbox(const FabricEndpoint& endpoint);

    // The oldest one that is there, to be read until release(); null where none is.
    [[nodiscard]] const std::byte* oldest(std::size_t& bytes) const noexcept {
        const Slot& slot = slots_[at_];
        bytes = slot.work.error == 0 ? slot.work.bytes : nothing_received;
        return slot.work.busy ? nullptr : slot.memory.data();
    }
    void release(FabricQueue& queue) {
        post(slots_[at_], queue);
        at_ = at_ + 1 == slots_.size() ? 0 : at_ + 1;
    }

private:
    struct Slot {
        std::span<std::byte> memory;
        FabricWork work;
    };
    void post(Slot& slot, FabricQueue& queue);

    const FabricEndpoint& endpoint_;
    std::size_t slot_bytes_;
    Payload memory_;
    FabricMemory registered_;
    std::vector<Slot> slots_;
    std::size_t at_ = 0;
};

template <class Wait>
class FabricDatagramPath {
public:
    static constexpr bool datagrams = true;

    FabricDatagramPath(FabricEndpoint& endpoint, const FabricOptions& options,
                       const MeetingPoint& meeting, FabricDatagramInbox& inbox,
                       std::size_t message_bytes, const std::atomic<bool>& interrupted)
        : endpoint_(endpoint), options_(options), queue_(endpoint, meeting, interrupted),
          outbox_(endpoint, options, queue_, {endpoint, options, message_bytes}, 1), inbox_(inbox) {
        queue_.keep_errors(true); // a datagram that is not whole is a stranger's
    }
    ~FabricDatagramPath() {
        if (!outbox_.is_settled()) {
            endpoint_.close();
        }
    }
    FabricDatagramPath(const FabricDatagramPath&) = delete;
    FabricDatagramPath& operator=(const FabricDatagramPath&) = delete;

    // The message may change as soon as this returns: it holds the datagram's number.
    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        if (options_.inject) {
            outbox_.inject(message);
            return;
        }
        outbox_.template send<Wait>(message);
        while (!outbox_.is_settled()) {
            queue_.look();
        }
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        std::size_t bytes = 0;
        const std::byte* came = inbox_.oldest(bytes);
        if (came == nullptr) {
            came = await(bytes);
        }
        if (came == nullptr) {
            return nothing_received;
        }
        if (bytes != nothing_received && bytes <= message.size()) {
            std::memcpy(message.data(), came, bytes);
        }
        inbox_.release(queue_);
        ++calls_received_;
        return bytes == nothing_received ? message.size() + 1 : bytes;
    }
    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        return receive(message, call_bytes);
    }

    void drain() {
        std::size_t bytes = 0;
        queue_.look();
        while (inbox_.oldest(bytes) != nullptr) {
            inbox_.release(queue_);
            queue_.look();
        }
    }
    void check_interrupted() const { queue_.check_alive(); }
    bool wait_drained() {
        outbox_.template settle<Wait>();
        return true;
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"gave_way", queue_.gave_way()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return outbox_.calls(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

private:
    static constexpr std::int64_t patience_ns = FabricQueue::patience_ms * 1'000'000LL;
    static constexpr unsigned looks_a_reading = 64; // of the clock

    const std::byte* await(std::size_t& bytes) {
        const std::int64_t end_ns = monotonic_ns() + patience_ns;
        for (unsigned looks = 1;; ++looks) {
            const std::uint64_t in_vain = queue_.slept_in_vain();
            Wait::wait(queue_);
            if (const std::byte* const came = inbox_.oldest(bytes)) {
                return came;
            }
            if (queue_.slept_in_vain() != in_vain ||
                (looks % looks_a_reading == 0 && monotonic_ns() >= end_ns)) {
                queue_.check_alive();
                return nullptr;
            }
        }
    }

    FabricEndpoint& endpoint_;
    const FabricOptions& options_;
    FabricQueue queue_;
    FabricOutbox outbox_;
    FabricDatagramInbox& inbox_;
    std::uint64_t calls_received_ = 0;
};

static_assert(DatagramTransport<FabricDatagramPath<FabricSpinning>>);

} // namespace sonde
