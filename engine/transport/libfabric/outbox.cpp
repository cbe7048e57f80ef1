#include "transport/libfabric/outbox.hpp"

#include <algorithm>
#include <string>

namespace sonde {

FabricPieces::FabricPieces(const FabricEndpoint& endpoint, const FabricOptions& options,
                           std::size_t message_bytes)
    : most(std::max<std::size_t>(message_bytes, 1)) {
    const std::size_t limit = endpoint.most_post_bytes();
    if (message_bytes <= limit) {
        return;
    }
    if (!options.segmented) {
        throw Failure("bad_request", "a message of " + std::to_string(message_bytes) +
                                         " bytes is more than the " + std::to_string(limit) +
                                         " that provider " +
                                         endpoint.info().fabric_attr->prov_name +
                                         " takes at once here; ask for segmented, or for less");
    }
    most = limit;
    count = (message_bytes + limit - 1) / limit;
}

FabricOutbox::FabricOutbox(const FabricEndpoint& endpoint, const FabricOptions& options,
                           FabricQueue& queue, FabricPieces pieces, std::size_t depth)
    : endpoint_(endpoint), options_(options), queue_(queue), pieces_(pieces),
      wants_local_(endpoint.wants_local_memory()), works_(depth * pieces.count) {}

bool FabricOutbox::is_settled() const noexcept {
    return std::ranges::none_of(works_, &FabricWork::busy);
}

void* FabricOutbox::registered(std::span<const std::byte> memory) {
    for (const FabricMemory& known : memories_) {
        if (known.holds(memory.data(), memory.size())) {
            return known.descriptor();
        }
    }
    memories_.push_back(endpoint_.register_memory(writable(memory), false));
    return memories_.back().descriptor();
}

ssize_t FabricOutbox::post_parts(std::span<const std::byte> piece, void* descriptor,
                                 FabricWork& work) const {
    std::array<iovec, most_parts> places{};
    std::array<void*, most_parts> descriptors{};
    descriptors.fill(descriptor);
    const std::size_t part = piece.size() / options_.parts;
    for (std::size_t i = 0; i < options_.parts; ++i) {
        const std::size_t begin = i * part;
        const std::size_t bytes = i + 1 == options_.parts ? piece.size() - begin : part;
        places.at(i) = {writable(piece).data() + begin, bytes};
    }
    return fi_sendv(endpoint_.ep(), places.data(), descriptors.data(), options_.parts,
                    endpoint_.peer(), &work.context);
}

Failure FabricOutbox::refused(ssize_t answer) const {
    const int error = static_cast<int>(-answer);
    const bool lost = error == FI_ENOTCONN || error == FI_ECONNRESET || error == FI_ESHUTDOWN;
    return {lost ? "peer_lost" : "system",
            "provider " + std::string(endpoint_.info().fabric_attr->prov_name) +
                " does not take a message: " + endpoint_.library().why(error)};
}

} // namespace sonde
