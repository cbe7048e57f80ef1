#include "transport/libfabric/exposed.hpp"

#include <algorithm>
#include <string>

namespace sonde {

ExposedMemory::ExposedMemory(const FabricEndpoint& endpoint, const MeetingPoint& meeting,
                             std::size_t bytes, const Deadline& deadline, std::size_t closed_bytes)
    : meeting_(meeting), bytes_(std::max<std::size_t>(bytes, sizeof(std::uint64_t))),
      memory_(bytes_ + closed_bytes, 0), registered_(endpoint.register_memory(own(), true)) {
    meeting.say(FabricCard{.kind = FabricCard::Kind::memory,
                           .address = endpoint.named(memory_.bytes().data()),
                           .key = registered_.key(),
                           .bytes = bytes_});
    const FabricCard card = meeting.hear(FabricCard::Kind::memory, deadline);
    if (card.bytes < bytes) {
        throw Failure("peer_lost", "the other end's memory is smaller than a message");
    }
    other_ = {card.address, card.key};
}

void ExposedMemory::part(FabricQueue& queue, const Deadline& deadline) const {
    meeting_.say(FabricCard{.kind = FabricCard::Kind::done});
    while (!meeting_.has_card()) {
        queue.look(); // the other end may need this one to make progress
    }
    (void)meeting_.hear(FabricCard::Kind::done, deadline);
}

} // namespace sonde
