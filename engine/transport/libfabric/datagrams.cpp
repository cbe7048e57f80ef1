#include "transport/libfabric/datagrams.hpp"

#include <algorithm>

namespace sonde {
namespace {

constexpr std::size_t most_receives = 64;
constexpr std::size_t most_slot_bytes = 65'536;

} // namespace

FabricDatagramInbox::FabricDatagramInbox(const FabricEndpoint& endpoint)
    : endpoint_(endpoint),
      slot_bytes_(std::min(endpoint.info().ep_attr->max_msg_size, most_slot_bytes)),
      memory_(slot_bytes_ * most_receives, 0),
      slots_(std::min(most_receives, endpoint.info().rx_attr->size)) {
    if (endpoint.wants_local_memory()) {
        registered_ = endpoint.register_memory(memory_.bytes(), false);
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        slot.memory = memory_.bytes().subspan(i * slot_bytes_, slot_bytes_);
        slot.work.busy = true;
        if (const auto error =
                fi_recv(endpoint.ep(), slot.memory.data(), slot.memory.size(),
                        registered_.descriptor(), FI_ADDR_UNSPEC, &slot.work.context)) {
            throw Failure("system", "the provider takes no receives: " +
                                        endpoint.library().why(static_cast<int>(error)));
        }
    }
}

void FabricDatagramInbox::post(Slot& slot, FabricQueue& queue) {
    slot.work.busy = true;
    slot.work.error = 0;
    ssize_t answer = -FI_EAGAIN;
    while (answer == -FI_EAGAIN) {
        answer = fi_recv(endpoint_.ep(), slot.memory.data(), slot.memory.size(),
                         registered_.descriptor(), FI_ADDR_UNSPEC, &slot.work.context);
        if (answer == -FI_EAGAIN) {
            queue.look();
        }
    }
    if (answer != 0) {
        throw Failure("system", "the provider does not take a receive: " +
                                    endpoint_.library().why(static_cast<int>(answer)));
    }
}

} // namespace sonde
