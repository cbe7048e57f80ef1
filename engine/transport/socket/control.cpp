#include "transport/socket/control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
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
static_assert(sizeof(Wire) == 32);

constexpr std::array<std::string_view, 8> codes{"bad_request",  "refused", "timeout",
                                                "peer_lost",    "limit",   "no_memory",
                                                "data_corrupt", "system"};

std::string_view name_of(Frame::Kind kind) {
    switch (kind) {
    case Frame::Kind::sync1:
        return "its first synchronisation message";
    case Frame::Kind::ack_sync:
        return "its answer to the synchronisation";
    case Frame::Kind::sync2:
        return "its second synchronisation message";
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
    // 32 bytes into an empty send buffer are taken whole.
    const ssize_t sent = ::send(connection_.get(), &wire, sizeof wire, MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(sizeof wire)) {
        throw Failure("peer_lost", "the control connection to the other end is lost: " +
                                       std::string(std::strerror(errno)));
    }
    // Sending makes the kernel hold back acknowledgements for up to 200 ms, to piggyback them. The
    // peer would take its next frame for lost and repeat it in the middle of a test.
    const int on = 1;
    ::setsockopt(connection_.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

Frame SocketControl::expect(Frame::Kind kind) {
    Wire wire;
    ssize_t got = 0;
    do {
        got = ::recv(connection_.get(), &wire, sizeof wire, MSG_WAITALL);
    } while (got < 0 && errno == EINTR);
    const std::string awaited = "while waiting for " + std::string(name_of(kind));
    if (interrupted_) {
        throw Failure("timeout", awaited);
    }
    if (got != static_cast<ssize_t>(sizeof wire)) {
        throw Failure("peer_lost", "the other end closed the control connection " + awaited);
    }
    if (wire.magic != Wire{}.magic) {
        throw Failure("peer_lost", "the other end sent what is no control frame " + awaited);
    }
    if (wire.kind == static_cast<std::uint16_t>(Frame::Kind::abort)) {
        const auto code = wire.detail < codes.size() ? codes[wire.detail] : "unknown";
        throw Failure("peer_lost", "the other end gave up (" + std::string(code) + ") " + awaited);
    }
    if (wire.kind != static_cast<std::uint16_t>(kind)) {
        throw Failure("peer_lost", "the other end sent another control frame " + awaited);
    }
    return {kind, wire.first, wire.second, wire.detail, wire.third};
}

bool SocketControl::arrived() {
    Wire wire;
    const ssize_t got = ::recv(connection_.get(), &wire, sizeof wire, MSG_PEEK | MSG_DONTWAIT);
    return got == static_cast<ssize_t>(sizeof wire) || got == 0 ||
           (got < 0 && errno != EAGAIN && errno != EINTR);
}

void SocketControl::abort(const std::string& code) noexcept {
    Wire wire;
    wire.kind = static_cast<std::uint16_t>(Frame::Kind::abort);
    while (wire.detail < codes.size() && codes[wire.detail] != code) {
        ++wire.detail;
    }
    [[maybe_unused]] const ssize_t sent =
        ::send(connection_.get(), &wire, sizeof wire, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SocketControl::interrupt() noexcept { ::shutdown(connection_.get(), SHUT_RD); }

} // namespace sonde
