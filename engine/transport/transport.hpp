// What a test asks of a transport. Tests are templates over these concepts; a transport knows no
// test and a test knows no transport.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

// The measured path between two ends. A stream transport moves a message as calls of call_bytes;
// a datagram transport moves one message as one datagram and ignores call_bytes.
template <class T>
concept MessageTransport = requires(T& t, std::span<const std::byte> out, std::span<std::byte> in,
                                    std::size_t call_bytes) {
    // True when messages can be lost, repeated or reordered.
    { T::datagrams } -> std::convertible_to<bool>;
    // Hands over one whole message. Throws Failure when the peer is lost or time is up.
    { t.send(out, call_bytes) } -> std::same_as<void>;
    // Fills `in` with one whole message and returns its bytes. A datagram transport returns 0 when
    // nothing came within its patience; a stream transport throws Failure instead.
    { t.receive(in, call_bytes) } -> std::same_as<std::size_t>;
};

// A reliable side channel between the same two ends, silent while a test runs (Hpcbench's data
// channel). Frames have a fixed size; anything unexpected throws Failure("peer_lost").
struct Frame {
    enum class Kind : std::uint16_t { sync1 = 1, ack_sync, sync2, sent, received, ready, abort };
    Kind kind = Kind::abort;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

template <class T>
concept ControlChannel = requires(T& t, const Frame& frame, Frame::Kind kind) {
    { t.send(frame) } -> std::same_as<void>;
    { t.expect(kind) } -> std::same_as<Frame>;
};

} // namespace sonde
