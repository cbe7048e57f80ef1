#include "transport/socket/control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "core/failure.hpp"

namespace sonde {
namespace {

struct Wire {
    std::uint32_t magic = 0x534F4E44;
    std::uint16_t kind = 0;
    std::uint16_t detail = 0;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
};
static_assert(sizeof(Wire) == most_sealed_bytes);

// A frame as it travels: its tag comes behind it where the channel is sealed, else nothing does.
struct Packet {
    Wire wire;
    Tag tag{};
};
static_assert(sizeof(Packet) == sizeof(Wire) + sizeof(Tag));

std::size_t packet_bytes(const Seal* seal) noexcept {
    return seal == nullptr ? sizeof(Wire) : sizeof(Packet);
}

std::span<const std::byte> bytes_of(const Wire& wire) noexcept {
    return std::as_bytes(std::span(&wire, 1));
}

// Whether it was taken: so few bytes are taken whole into an empty send buffer.
bool put(int fd, const Wire& wire, Seal* seal, int flags) noexcept {
    Packet packet{wire};
    if (seal != nullptr) {
        packet.tag = seal->of_next_frame(bytes_of(wire));
    }
    const std::size_t bytes = packet_bytes(seal);
    return ::send(fd, &packet, bytes, MSG_NOSIGNAL | flags) == static_cast<ssize_t>(bytes);
}

constexpr std::array<std::string_view, 8> codes{"bad_request",  "refused", "timeout",
                                                "peer_lost",    "limit",   "no_memory",
                                                "data_corrupt", "system"};

std::string_view name_of(Frame::Kind kind) {
    switch (kind) {
    case Frame::Kind::sync1:
        return "word that the test begins";
    case Frame::Kind::ack_sync:
        return "its answer that it is there";
    case Frame::Kind::sync2:
        return "word that it heard the answer";
    case Frame::Kind::sent:
        return "word of how much it sent";
    case Frame::Kind::received:
        return "word that it received everything";
    case Frame::Kind::ready:
        return "word that it is ready";
    case Frame::Kind::next:
        return "the start of the next round";
    case Frame::Kind::abort:
        break;
    }
    return "word that it gives up";
}

} // namespace

void SocketControl::send(const Frame& frame) {
    Wire wire;
    wire.kind = static_cast<std::uint16_t>(frame.kind);
    wire.detail = frame.detail;
    wire.first = frame.first;
    wire.second = frame.second;
    wire.third = frame.third;
    if (!put(connection_.get(), wire, seal_, 0)) {
        throw Failure("peer_lost", "the control connection to the other end is lost: " +
                                       std::string(std::strerror(errno)));
    }
    // Sending makes the kernel hold back acknowledgements for up to 200 ms, to piggyback them. The
    // peer would take its next frame for lost and repeat it in the middle of a test.
    const int on = 1;
    ::setsockopt(connection_.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

Frame SocketControl::expect(Frame::Kind kind) {
    Packet packet;
    const Wire& wire = packet.wire;
    ssize_t got = 0;
    do {
        got = ::recv(connection_.get(), &packet, packet_bytes(seal_), MSG_WAITALL);
    } while (got < 0 && errno == EINTR);
    const std::string awaited = "while waiting for " + std::string(name_of(kind));
    if (interrupted_) {
        throw Failure("timeout", awaited);
    }
    if (got != static_cast<ssize_t>(packet_bytes(seal_))) {
        throw Failure("peer_lost", "the other end closed the control connection " + awaited);
    }
    if (seal_ != nullptr && !seal_->is_peers_next_frame(bytes_of(wire), packet.tag)) {
        throw Failure("data_corrupt",
                      "a control frame is not as the other end sent it: somebody on "
                      "the way altered it or spoke in its place " +
                          awaited);
    }
    if (wire.magic != Wire{}.magic) {
        throw Failure("peer_lost",
                      "what came from the other end is nothing that netsonde says, " + awaited);
    }
    if (wire.kind == static_cast<std::uint16_t>(Frame::Kind::abort)) {
        const auto code = wire.detail < codes.size() ? codes[wire.detail] : "unknown";
        throw Failure("peer_lost", "the other end gave up (" + std::string(code) + ") " + awaited);
    }
    if (wire.kind != static_cast<std::uint16_t>(kind)) {
        throw Failure("peer_lost", "the other end said something else " + awaited);
    }
    return {kind, wire.first, wire.second, wire.detail, wire.third};
}

bool SocketControl::arrived() {
    Packet packet;
    const std::size_t bytes = packet_bytes(seal_);
    const ssize_t got = ::recv(connection_.get(), &packet, bytes, MSG_PEEK | MSG_DONTWAIT);
    return got == static_cast<ssize_t>(bytes) || got == 0 ||
           (got < 0 && errno != EAGAIN && errno != EINTR);
}

void SocketControl::abort(const std::string& code) noexcept {
    Wire wire;
    wire.kind = static_cast<std::uint16_t>(Frame::Kind::abort);
    while (wire.detail < codes.size() && codes[wire.detail] != code) {
        ++wire.detail;
    }
    [[maybe_unused]] const bool sent = put(connection_.get(), wire, seal_, MSG_DONTWAIT);
}

void SocketControl::interrupt() noexcept { ::shutdown(connection_.get(), SHUT_RD); }

} // namespace sonde
