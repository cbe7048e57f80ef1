// Memory of each end that the other one may read and write.
#pragma once

#include <span>

#include "core/payload.hpp"
#include "transport/libfabric/endpoint.hpp"
#include "transport/libfabric/meeting_point.hpp"
#include "transport/libfabric/outbox.hpp"
#include "transport/libfabric/queue.hpp"

namespace sonde {

class ExposedMemory {
public:
    // Opens memory to the other end and learns where that one's is. Both ends do so at once.
    // closed_bytes: so much behind it is not opened. Throws Failure.
    ExposedMemory(const FabricEndpoint& endpoint, const MeetingPoint& meeting, std::size_t bytes,
                  const Deadline& deadline, std::size_t closed_bytes = 0);

    [[nodiscard]] std::span<std::byte> own() noexcept { return memory_.bytes().first(bytes_); }
    // With what is not opened.
    [[nodiscard]] std::span<std::byte> all() noexcept { return memory_.bytes(); }
    [[nodiscard]] const RemoteMemory& other() const noexcept { return other_; }

    // From now on the provider does not know it any more.
    void release() noexcept { registered_ = {}; }

    // Returns when the other end needs nothing of this one any more.
    void part(FabricQueue& queue, const Deadline& deadline) const;

private:
    const MeetingPoint& meeting_;
    std::size_t bytes_;
    Payload memory_;
    FabricMemory registered_;
    RemoteMemory other_;
};

} // namespace sonde
