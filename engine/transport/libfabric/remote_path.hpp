// One end acts, the other one has memory: reads, additions, and writes that are complete at their
// origin.
#pragma once

#include <rdma/fi_atomic.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "core/payload.hpp"
#include "transport/libfabric/exposed.hpp"
#include "transport/transport.hpp"

namespace sonde {

template <class Wait>
class FabricRemotePath {
public:
    static constexpr bool datagrams = false;

    FabricRemotePath(FabricEndpoint& endpoint, const FabricOptions& options,
                     const MeetingPoint& meeting, std::size_t message_bytes, std::uint64_t seed,
                     const std::atomic<bool>& interrupted, const Deadline& deadline)
        : endpoint_(endpoint), operation_(options.operation),
          queue_(endpoint, meeting, interrupted),
          outbox_(endpoint, options, queue_, {endpoint, options, message_bytes}, 1),
          exposed_(endpoint, meeting, message_bytes, deadline) {
        if (operation_ == FabricOperation::read) {
            Payload::write(exposed_.own(), seed);
        } else {
            std::memset(exposed_.own().data(), 0, exposed_.own().size());
        }
    }
    ~FabricRemotePath() {
        if (!finished_) {
            endpoint_.close();
        }
    }
    FabricRemotePath(const FabricRemotePath&) = delete;
    FabricRemotePath& operator=(const FabricRemotePath&) = delete;

    // At the origin: one operation, until it is complete. `in` takes what is read, or the number
    // that was there before one was added to it; `out` is what is written.
    void act(std::span<const std::byte> out, std::span<std::byte> in) {
        switch (operation_) {
        case FabricOperation::read:
            outbox_.template perform<Wait>([&](FabricWork& work) {
                return fi_read(endpoint_.ep(), in.data(), in.size(), outbox_.descriptor_of(in),
                               endpoint_.peer(), exposed_.other().address, exposed_.other().key,
                               &work.context);
            });
            return;
        case FabricOperation::atomic:
            add(in);
            return;
        case FabricOperation::write:
        case FabricOperation::send:
            write(out);
            return;
        }
    }
    // At the target: lets the provider go on with what the origin asked for, asleep meanwhile where
    // that was asked for.
    void serve() { queue_.look(); }

    // Whether what came with act() is as it must be, at the index of the operation.
    [[nodiscard]] bool is_right(std::span<const std::byte> in, std::uint64_t index,
                                std::uint64_t seed) const noexcept {
        if (operation_ == FabricOperation::atomic) {
            std::uint64_t before = 0;
            std::memcpy(&before, in.data(), sizeof before);
            return before == index;
        }
        return operation_ != FabricOperation::read || Payload::first_difference(in, seed) < 0;
    }
    // At the target, behind the last: what its memory has to hold after so many operations.
    [[nodiscard]] bool holds(std::uint64_t count, std::uint64_t seed) noexcept {
        if (operation_ == FabricOperation::atomic) {
            std::uint64_t sum = 0;
            std::memcpy(&sum, exposed_.own().data(), sizeof sum);
            return sum == count;
        }
        return Payload::first_difference(exposed_.own(), seed) < 0;
    }

    [[nodiscard]] bool sends_content() const noexcept {
        return operation_ != FabricOperation::read;
    }

    void finish(const Deadline& deadline) {
        exposed_.part(queue_, deadline);
        finished_ = true;
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"gave_way", queue_.gave_way()}};
    }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return outbox_.calls(); }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return 0; }

private:
    void add(std::span<std::byte> in) {
        outbox_.template perform<Wait>([&](FabricWork& work) {
            return fi_fetch_atomic(endpoint_.ep(), &one_, 1, outbox_.descriptor_of(one_bytes()),
                                   in.data(), outbox_.descriptor_of(in), endpoint_.peer(),
                                   exposed_.other().address, exposed_.other().key, FI_UINT64,
                                   FI_SUM, &work.context);
        });
    }
    // Complete where it is in the other end's memory, not where it has left this one.
    void write(std::span<const std::byte> out) {
        iovec place{const_cast<std::byte*>(out.data()), out.size()}; // NOLINT(*-const-cast)
        void* descriptor = outbox_.descriptor_of(out);
        fi_rma_iov there{exposed_.other().address, out.size(), exposed_.other().key};
        outbox_.template perform<Wait>([&](FabricWork& work) {
            const fi_msg_rma message{&place, &descriptor,   1, endpoint_.peer(), &there,
                                     1,      &work.context, 0};
            return fi_writemsg(endpoint_.ep(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
        });
    }
    [[nodiscard]] std::span<const std::byte> one_bytes() const noexcept {
        return std::as_bytes(std::span(&one_, 1));
    }

    FabricEndpoint& endpoint_;
    FabricOperation operation_;
    std::uint64_t one_ = 1;
    FabricQueue queue_;
    FabricOutbox outbox_;
    ExposedMemory exposed_;
    bool finished_ = false;
};

} // namespace sonde
