#include "transport/pvm/path.hpp"

#include <array>
#include <limits>
#include <string>

#include "core/failure.hpp"

namespace sonde::pvm {
namespace {

using Words = std::array<std::uint64_t, 5>;

} // namespace

void require_countable(std::size_t message_bytes) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (message_bytes > most) {
        throw Failure("bad_request", "request: message_bytes is " + std::to_string(message_bytes) +
                                         ", expected at most " + std::to_string(most) +
                                         " over PVM");
    }
}

void Control::send(const Frame& frame) const {
    Words words{static_cast<std::uint64_t>(frame.kind), frame.first, frame.second, frame.detail,
                frame.third};
    checked(::pvm_initsend(PvmDataRaw), "begin to synchronise with the other end");
    checked(::pvm_pkbyte(reinterpret_cast<char*>(words.data()), sizeof words, 1),
            "pack what synchronises the ends");
    checked(::pvm_send(peer_, control_tag), "synchronise with the other end");
}

Frame Control::expect(Frame::Kind kind) const {
    Words words{};
    checked(::pvm_recv(peer_, control_tag), "synchronise with the other end");
    checked(::pvm_upkbyte(reinterpret_cast<char*>(words.data()), sizeof words, 1),
            "unpack what synchronises the ends");
    if (words[0] != static_cast<std::uint64_t>(kind)) {
        throw Failure("peer_lost", "the other end does something else than this test");
    }
    return {kind, words[1], words[2], static_cast<std::uint16_t>(words[3]), words[4]};
}

} // namespace sonde::pvm
