#include "transport/libfabric/meeting_point.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/failure.hpp"

namespace sonde {
namespace {

const char* awaited(FabricCard::Kind kind) {
    switch (kind) {
    case FabricCard::Kind::name:
        return "the other end's name in the fabric";
    case FabricCard::Kind::connected:
        return "word that the other end is connected";
    case FabricCard::Kind::heard:
        return "word that the other end hears this one over the fabric";
    case FabricCard::Kind::memory:
        return "where the other end's memory is";
    case FabricCard::Kind::left:
        return "what the other end still has to receive";
    case FabricCard::Kind::done:
        break;
    }
    return "word that the other end is through";
}

} // namespace

void MeetingPoint::say(const FabricCard& card) const {
    if (::send(connection_.get(), &card, sizeof card, MSG_NOSIGNAL) !=
        static_cast<ssize_t>(sizeof card)) {
        throw Failure("peer_lost", "the other end is gone: " + std::string(std::strerror(errno)));
    }
}

FabricCard MeetingPoint::hear(FabricCard::Kind kind, const Deadline& deadline) const {
    FabricCard card;
    auto* const bytes = reinterpret_cast<std::byte*>(&card);
    std::size_t got = 0;
    while (got < sizeof card) {
        deadline.await(connection_.get(), POLLIN, awaited(kind));
        const ssize_t piece =
            ::recv(connection_.get(), bytes + got, sizeof card - got, MSG_DONTWAIT);
        if (piece < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (piece <= 0) {
            throw Failure(deadline.interrupted() ? "timeout" : "peer_lost",
                          "the other end gave up while waiting for " + std::string(awaited(kind)));
        }
        got += static_cast<std::size_t>(piece);
    }
    if (card.magic != FabricCard{}.magic || card.kind != kind ||
        card.name_bytes > most_name_bytes) {
        throw Failure("peer_lost", "the other end said something else while waiting for " +
                                       std::string(awaited(kind)));
    }
    return card;
}

bool MeetingPoint::has_card() const noexcept {
    pollfd one{connection_.get(), POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
}

bool MeetingPoint::is_lost() const noexcept {
    std::byte byte{};
    const ssize_t got = ::recv(connection_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void MeetingPoint::interrupt() const noexcept { ::shutdown(connection_.get(), SHUT_RDWR); }

} // namespace sonde
