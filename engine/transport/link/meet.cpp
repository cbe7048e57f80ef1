#include "transport/link/meet.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t between_hellos_ns = 20'000'000;

std::uint64_t as_number(const MacAddress& address) noexcept {
    std::uint64_t word = 0;
    for (const std::byte byte : address) {
        word = word << 8U | std::to_integer<std::uint64_t>(byte);
    }
    return word;
}

MacAddress as_address(std::uint64_t word) noexcept {
    MacAddress address;
    for (std::size_t i = address.size(); i != 0; --i, word >>= 8U) {
        address.at(i - 1) = static_cast<std::byte>(word & 0xFFU);
    }
    return address;
}

// Whether the partner's frame is among those that have come.
bool heard_hello(LinkPort& port) {
    bool heard = false;
    while (port.deliver()) {
    }
    while (const auto segment = port.next(0)) {
        heard = heard || segment->header.kind == FrameKind::hello;
        port.release(*segment);
    }
    return heard;
}

bool is_closed(int fd) noexcept {
    std::byte byte{};
    return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

} // namespace

LinkCard exchange_cards(SocketControl& control, const LinkCard& own, const Deadline& deadline) {
    Frame said{Frame::Kind::ready, as_number(own.partner.address), own.partner.number};
    said.third = own.fragment_bytes;
    control.send(said);
    deadline.await(control.fd(), POLLIN, "where the other end's frames are to go");
    const Frame heard = control.expect(Frame::Kind::ready);
    LinkCard other;
    other.partner.address = as_address(heard.first);
    other.partner.number = static_cast<std::uint16_t>(heard.second);
    other.fragment_bytes = heard.third;
    if (heard.second > 0xFFFF || other.fragment_bytes == 0 ||
        other.fragment_bytes > most_fragment_bytes) {
        throw Failure("peer_lost", "the other end is none of the link's");
    }
    return other;
}

void greet(LinkPort& port, SocketControl& control, const Deadline& deadline) {
    bool heard = false;
    // What the other end says over the control connection is that it has heard this one.
    while (!heard || !control.arrived()) {
        LinkHeader hello;
        hello.first = hello.last = true;
        static_cast<void>(port.send(0, hello, {}));
        std::array<pollfd, 2> fds{pollfd{port.driver().fd(), POLLIN, 0},
                                  pollfd{heard ? control.fd() : -1, POLLIN, 0}};
        deadline.poll(fds, between_hellos_ns,
                      "a frame of the other end by " + port.device().name +
                          " (frames cross no router, and some networks carry none of EtherType "
                          "88b5)");
        if (heard_hello(port) && !heard) {
            heard = true;
            control.send(Frame{Frame::Kind::ready});
        } else if (!heard && is_closed(control.fd())) {
            break; // which is told of below
        }
    }
    static_cast<void>(control.expect(Frame::Kind::ready));
}

} // namespace sonde
