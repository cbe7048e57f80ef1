#include "transport/link/port.hpp"

#include <algorithm>
#include <utility>

namespace sonde {

// So many that no endpoint can take all slots: the kernel would have none for the others.
LinkPort::LinkPort(std::unique_ptr<LinkDriver> driver, const LinkDevice& device,
                   EndpointNumbers numbers)
    : driver_(std::move(driver)), device_(device), numbers_(numbers), endpoints_(numbers.count),
      lying_(driver_->slots()),
      most_held_(std::max<std::uint32_t>(driver_->slots() / 8 * 7 / numbers.count, 1)) {}

void LinkPort::point(std::size_t endpoint, const LinkPartner& partner) {
    endpoints_[endpoint].partner = partner;
    endpoints_[endpoint].headers = FrameHeaders(partner.address, device_.address);
}

bool LinkPort::deliver() {
    LinkArrival arrival;
    if (!driver_->receive(arrival)) {
        return false;
    }
    take(arrival);
    return true;
}

void LinkPort::take(const LinkArrival& arrival) {
    const std::optional<LinkFrame> frame = read_frame(arrival.frame);
    const std::size_t index =
        frame ? static_cast<std::uint16_t>(frame->header.number - numbers_.first) : numbers_.count;
    std::uint64_t* reason = nullptr;
    if (frame && index >= numbers_.count) {
        reason = &dropped_.of_others;
    } else if (!frame) {
        reason = &dropped_.malformed;
    } else if (frame->from != endpoints_[index].partner.address) {
        reason = &dropped_.strangers;
    } else if (endpoints_[index].held >= most_held_) {
        reason = &dropped_.no_room;
    }
    if (reason != nullptr) [[unlikely]] {
        ++*reason;
        if (index >= numbers_.count && !admits_only_) {
            driver_->admit_only(numbers_);
            admits_only_ = true;
        }
        driver_->release(arrival.slot);
        return;
    }
    Endpoint& to = endpoints_[index];
    lying_[arrival.slot] = {frame->header, frame->content, none};
    (to.oldest == none ? to.oldest : lying_[to.newest].next) = arrival.slot;
    to.newest = arrival.slot;
    ++to.held;
    ++frames_received_;
}

std::optional<LinkSegment> LinkPort::next(std::size_t endpoint) {
    Endpoint& of = endpoints_[endpoint];
    if (of.oldest == none) {
        return std::nullopt;
    }
    const std::uint32_t slot = of.oldest;
    const Lying& lying = lying_[slot];
    of.oldest = lying.next;
    --of.held;
    return LinkSegment{lying.header, lying.content, slot};
}

LinkPort open_port_of(DriverKind kind, const LinkDevice& device, EndpointNumbers numbers,
                      std::size_t fragment_bytes) {
    const std::size_t frame_bytes =
        link_headers_bytes +
        std::max(fragment_bytes, std::min(device.room_bytes(), usual_fragment_bytes));
    return {open_driver(kind, device, numbers, frame_bytes), device, numbers};
}

} // namespace sonde
