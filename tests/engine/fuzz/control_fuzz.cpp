// Control frames as they come from a peer, in pieces, and what is waited for.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "core/failure.hpp"
#include "fuzz/bytes.hpp"
#include "transport/socket/control.hpp"

namespace {

using namespace sonde;

constexpr std::array kinds{Frame::Kind::sync1, Frame::Kind::ack_sync, Frame::Kind::sync2,
                           Frame::Kind::sent,  Frame::Kind::received, Frame::Kind::ready,
                           Frame::Kind::next};
constexpr std::size_t most_said_bytes = 65536; // what a socket takes at once

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes given(data, size);
    const std::size_t first = given.one();
    std::optional<Seal> seal;
    if (given.one() % 2 != 0) {
        seal.emplace(SealKey{std::byte{7}}, Speaker::target);
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return -1;
    }
    const Descriptor peer(ends[0]);
    const std::atomic<bool> interrupted{false};
    SocketControl control(Descriptor(ends[1]), interrupted, seal_in(seal));
    const auto said = given.take(most_said_bytes);
    if (::send(peer.get(), said.data(), said.size(), MSG_NOSIGNAL) < 0) {
        return -1;
    }
    ::shutdown(peer.get(), SHUT_WR);
    try {
        for (std::size_t kind = first;; ++kind) {
            (void)control.arrived();
            (void)control.expect(kinds.at(kind % kinds.size()));
            if (seal) {
                std::abort(); // nobody who has no key makes a tag
            }
        }
    } catch (const Failure& failure) { // at the latest where the bytes end
        control.abort(failure.code());
    }
    return 0;
}
