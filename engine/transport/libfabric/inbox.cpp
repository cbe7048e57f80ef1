#include "transport/libfabric/inbox.hpp"

#include <algorithm>
#include <array>

namespace sonde {

FabricInbox::FabricInbox(const FabricEndpoint& endpoint, const FabricOptions& options,
                         FabricQueue& queue, FabricPieces pieces, std::size_t message_bytes,
                         std::size_t receives, std::uint64_t most)
    : endpoint_(endpoint), options_(options), queue_(queue), pieces_(pieces),
      memory_(std::max<std::size_t>(receives * message_bytes, 1), 0), most_(most) {
    if (endpoint.wants_local_memory() && !options.fresh) {
        registered_ = endpoint.register_memory(memory_.bytes(), false);
    }
    slots_.resize(receives);
    for (std::size_t i = 0; i < receives; ++i) {
        slots_[i].memory = memory_.bytes().subspan(i * message_bytes, message_bytes);
        slots_[i].works.resize(pieces.count);
    }
    for (Slot& slot : slots_) {
        if (most_ == 0 || posted_ < most_) {
            post(slot);
        }
    }
}

std::uint64_t FabricInbox::left() const noexcept {
    std::uint64_t pieces = 0;
    for (const Slot& slot : slots_) {
        pieces += static_cast<std::uint64_t>(std::ranges::count_if(slot.works, &FabricWork::busy));
    }
    return pieces;
}

void FabricInbox::post(Slot& slot) {
    void* descriptor = registered_.descriptor();
    if (options_.fresh && !slot.memory.empty()) {
        slot.fresh = {}; // what it was registered as before
        slot.fresh = endpoint_.register_memory(slot.memory, false);
        descriptor = slot.fresh.descriptor();
    }
    for (std::size_t i = 0; i < pieces_.count; ++i) {
        post_piece(pieces_.of(slot.memory, i), descriptor, slot.works[i]);
    }
    slot.posted = true;
    ++posted_;
}

ssize_t FabricInbox::ask(std::span<std::byte> piece, void* descriptor, FabricWork& work) const {
    if (options_.parts == 1) {
        return fi_recv(endpoint_.ep(), piece.data(), piece.size(), descriptor, FI_ADDR_UNSPEC,
                       &work.context);
    }
    std::array<iovec, most_parts> places{};
    std::array<void*, most_parts> descriptors{};
    descriptors.fill(descriptor);
    const std::size_t part = piece.size() / options_.parts;
    for (std::size_t i = 0; i < options_.parts; ++i) {
        const std::size_t begin = i * part;
        const std::size_t bytes = i + 1 == options_.parts ? piece.size() - begin : part;
        places.at(i) = {piece.data() + begin, bytes};
    }
    return fi_recvv(endpoint_.ep(), places.data(), descriptors.data(), options_.parts,
                    FI_ADDR_UNSPEC, &work.context);
}

void FabricInbox::post_piece(std::span<std::byte> piece, void* descriptor, FabricWork& work) {
    work.busy = true;
    ssize_t answer = ask(piece, descriptor, work);
    while (answer == -FI_EAGAIN) {
        queue_.look();
        answer = ask(piece, descriptor, work);
    }
    if (answer != 0) {
        work.busy = false;
        throw Failure("system", "provider " + std::string(endpoint_.info().fabric_attr->prov_name) +
                                    " does not take a receive: " +
                                    endpoint_.library().why(static_cast<int>(answer)));
    }
}

} // namespace sonde
