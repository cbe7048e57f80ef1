// Drivers of the link: how frames get from memory of ours to an interface, and from it into memory
// that the kernel shares with us. They know no message and no partner.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "transport/link/device.hpp"
#include "transport/link/options.hpp"

namespace sonde {

// A frame that has come. Its memory is ours until its slot is given back.
struct LinkArrival {
    std::span<const std::byte> frame;
    std::uint32_t slot = 0;
};

// Numbers of the endpoints that frames may be for.
struct EndpointNumbers {
    std::uint16_t first = 0;
    std::uint16_t count = 1;
};

// How often the content of a frame was copied between a program's memory and the card's: by the
// driver or the kernel, not by the program itself.
struct DriverCopies {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
};

// One thread may send while another one receives.
class LinkDriver {
public:
    LinkDriver() = default;
    virtual ~LinkDriver() = default;
    LinkDriver(const LinkDriver&) = delete;
    LinkDriver& operator=(const LinkDriver&) = delete;

    // False where nothing is there. Rings are looked at in memory, without a system call.
    [[nodiscard]] virtual bool receive(LinkArrival& arrival) = 0;
    // Slots are given back in any order.
    virtual void release(std::uint32_t slot) noexcept = 0;
    // False where there is no room for the moment. Throws Failure where the interface is gone.
    [[nodiscard]] virtual bool send(std::span<const std::byte> headers,
                                    std::span<const std::byte> content) = 0;
    // Whether half of what may wait in the host is free, so that a frame finds room.
    [[nodiscard]] virtual bool has_room() const {
        pollfd one{fd(), POLLOUT, 0};
        return ::poll(&one, 1, 0) == 1 && (one.revents & POLLOUT) != 0;
    }
    // Has the kernel drop what is not for these, as far as it does not do so yet: a frame for
    // another one has come. A filter takes time of each frame that it lets pass, and on most links
    // it would have nobody else's to drop.
    virtual void admit_only(EndpointNumbers numbers) = 0;
    // Whether the host has handed over everything that was sent.
    [[nodiscard]] virtual bool is_drained() = 0;
    // Frames for which the kernel had no room, since the driver was opened.
    [[nodiscard]] virtual std::uint64_t overflowed() = 0;

    [[nodiscard]] virtual int fd() const noexcept = 0; // readable when frames are there
    [[nodiscard]] virtual std::uint32_t slots() const noexcept = 0;
    // How it works here, as ring or copy.
    [[nodiscard]] virtual std::string_view mode() const noexcept = 0;
    [[nodiscard]] const DriverCopies& copied() const noexcept { return copied_; }
    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

protected:
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
    DriverCopies copied_;
};

// frame_bytes: of the largest frame, with all headers. Throws Failure("unsupported") where this
// host cannot have such a driver, with what to do.
[[nodiscard]] std::unique_ptr<LinkDriver> open_packet_driver(const LinkDevice& device,
                                                             std::size_t frame_bytes);
[[nodiscard]] std::unique_ptr<LinkDriver> open_ring_driver(const LinkDevice& device,
                                                           std::size_t frame_bytes);
[[nodiscard]] std::unique_ptr<LinkDriver>
open_xdp_driver(const LinkDevice& device, EndpointNumbers numbers, std::size_t frame_bytes);
[[nodiscard]] std::unique_ptr<LinkDriver> open_driver(DriverKind kind, const LinkDevice& device,
                                                      EndpointNumbers numbers,
                                                      std::size_t frame_bytes);

} // namespace sonde
