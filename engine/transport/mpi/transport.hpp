// Two ranks of an MPI program as the two ends of a test. A message is one call of MPI_Send in
// standard mode, or of MPI_Isend in a stream with several messages outstanding; call_bytes does not
// apply.
//
// A blocked MPI call cannot be interrupted from outside: the guard ends the process instead, and
// the launcher ends the other ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/failure.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/posted.hpp"
#include "transport/transport.hpp"

namespace sonde::mpi {

// MPI-3.1 counts bytes in an int. Throws Failure("bad_request").
inline void require_countable(std::size_t message_bytes) {
    if (message_bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw Failure("bad_request", "request: message_bytes is " + std::to_string(message_bytes) +
                                         ", expected at most " +
                                         std::to_string(std::numeric_limits<int>::max()) +
                                         " over MPI");
    }
}

class Transport {
public:
    static constexpr bool datagrams = false;

    // outstanding: how many messages of a stream may be on their way before a call waits; 0: every
    // call blocks. receive_bytes: the size of the messages that come in such a stream, 0 at the
    // rank that sends them. Throws Failure("bad_request").
    Transport(MPI_Comm communicator, int peer, std::size_t outstanding = 0,
              std::size_t receive_bytes = 0)
        : communicator_(communicator), peer_(peer),
          posted_(communicator, peer, tag, outstanding, receive_bytes) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++calls_sent_;
        if (posted_.depth() != 0) {
            posted_.send(message);
            return;
        }
        check(MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, peer_, tag,
                       communicator_),
              "send a message");
    }

    void settle() { posted_.settle(); }

    std::span<std::byte> receive_next(std::span<std::byte> spare) {
        if (posted_.depth() == 0) {
            receive(spare, spare.size());
            return spare;
        }
        ++calls_received_;
        return posted_.receive();
    }

    void withdraw() { posted_.withdraw(); }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        check(MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_BYTE, peer_, tag,
                       communicator_, MPI_STATUS_IGNORE),
              "receive a message");
        ++calls_received_;
        return message.size();
    }

    // Both directions at once, without blocking either on the other.
    void exchange(std::span<const std::byte> out, std::span<std::byte> in) {
        std::array<MPI_Request, 2> requests{};
        check(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, peer_, tag, communicator_,
                        requests.data()),
              "begin to receive a message");
        check(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, peer_, tag,
                        communicator_, requests.data() + 1),
              "begin to send a message");
        check(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "exchange messages");
        ++calls_sent_;
        ++calls_received_;
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

private:
    static constexpr int tag = 1;

    MPI_Comm communicator_;
    int peer_;
    Posted posted_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

static_assert(MessageTransport<Transport> && ExchangeTransport<Transport> &&
              PostingTransport<Transport>);

// The frames of pre- and post-synchronisation, on a communicator of their own.
class Control {
public:
    Control(MPI_Comm communicator, int peer) : communicator_(communicator), peer_(peer) {}

    void send(const Frame& frame) {
        const Words words{static_cast<std::uint64_t>(frame.kind), frame.first, frame.second,
                          frame.detail, frame.third};
        check(MPI_Send(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, peer_, tag,
                       communicator_),
              "synchronise with the other end");
    }

    Frame expect(Frame::Kind kind) {
        Words words{};
        check(MPI_Recv(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, peer_, tag,
                       communicator_, MPI_STATUS_IGNORE),
              "synchronise with the other end");
        if (words[0] != static_cast<std::uint64_t>(kind)) {
            throw Failure("peer_lost", "the other end does something else than this test");
        }
        return {kind, words[1], words[2], static_cast<std::uint16_t>(words[3]), words[4]};
    }

private:
    using Words = std::array<std::uint64_t, 5>;
    static constexpr int tag = 1;

    MPI_Comm communicator_;
    int peer_;
};

static_assert(ControlChannel<Control>);

} // namespace sonde::mpi
