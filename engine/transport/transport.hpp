// What a test asks of a transport. Tests are templates over these concepts; a transport knows no
// test and a test knows no transport.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace sonde {

// What receive() of a datagram transport returns when nothing came within its patience.
constexpr std::size_t nothing_received = std::numeric_limits<std::size_t>::max();

// The measured path between two ends. A stream transport moves a message as calls of call_bytes;
// a datagram transport moves one message as one datagram and ignores call_bytes.
template <class T>
concept MessageTransport = requires(T& t, const T& path, std::span<const std::byte> out,
                                    std::span<std::byte> in, std::size_t call_bytes) {
    // True when messages can be lost, repeated or reordered; see DatagramTransport.
    { T::datagrams } -> std::convertible_to<bool>;
    // Hands over one whole message. Throws Failure when the peer is lost or time is up.
    { t.send(out, call_bytes) } -> std::same_as<void>;
    // Fills `in` with one whole message and returns its bytes. A datagram transport returns
    // nothing_received when nothing came within its patience, and the bytes of a datagram that is
    // longer or shorter than `in`; a stream transport throws Failure instead.
    { t.receive(in, call_bytes) } -> std::same_as<std::size_t>;
    // System or library calls made since the transport was opened.
    { path.calls_sent() } -> std::convertible_to<std::uint64_t>;
    { path.calls_received() } -> std::convertible_to<std::uint64_t>;
};

// What a path is for, where that is not all: what it is not for is not compiled over it.
enum class Traffic { any, answered, streamed };

template <class Path>
constexpr Traffic traffic_of = [] {
    if constexpr (requires { Path::traffic; }) {
        return Path::traffic;
    } else {
        return Traffic::any;
    }
}();

// A stream whose bytes can be taken as they come, whatever message they belong to.
template <class T>
concept ByteTransport =
    MessageTransport<T> && !T::datagrams && requires(T & t, std::span<std::byte> in) {
    // One call that brings something: returns at least 1 byte and at most in.size(). Throws Failure
    // as receive() does.
    { t.receive_some(in) } -> std::same_as<std::size_t>;
};

template <class T>
concept DatagramTransport = MessageTransport<T> && T::datagrams &&
    requires(T& t, std::span<std::byte> in, std::size_t call_bytes) {
    // As receive(), for one of many datagrams that follow each other closely: may ask some times
    // more before it sleeps.
    { t.receive_following(in, call_bytes) } -> std::same_as<std::size_t>;
    // Throws away what has arrived and was not asked for.
    { t.drain() } -> std::same_as<void>;
    // Throws Failure once the run was interrupted; called between the parts of a long sleep.
    { t.check_interrupted() } -> std::same_as<void>;
    // Waits (bounded) until the host has handed over everything; false where it did not.
    { t.wait_drained() } -> std::same_as<bool>;
};

// Datagrams that carry their number beside the message, so that a message of any size has one.
template <class T>
concept NumberedTransport = MessageTransport<T> && T::datagrams &&
    requires(T& t, const T& path, std::uint64_t number) {
    // The number of the message that is sent next.
    { t.number_next(number) } -> std::same_as<void>;
    // That of the message that came last.
    { path.received_number() } -> std::same_as<std::uint64_t>;
};

// Datagrams that are made in the memory from which the kernel takes them, and read where it has put
// them, so that nothing of ours copies them.
template <class T>
concept InPlaceTransport = DatagramTransport<T> &&
    requires(T& t, std::span<const std::byte> content) {
    requires static_cast<bool>(T::in_place);
    // What every place holds from now on.
    { t.fill(content) } -> std::same_as<void>;
    // Where the next datagram is made, with what was last sent from there.
    { t.place() } -> std::same_as<std::span<std::byte>>;
    { t.send_placed() } -> std::same_as<void>;
    // As receive_following(): the datagram where it lies until the next call; no pointer where
    // nothing came within the patience.
    { t.look_following() } -> std::same_as<std::span<const std::byte>>;
};

// Datagrams that show whose they are. receive() hands over none of anybody else.
template <class T>
concept SealingTransport = MessageTransport<T> && T::datagrams &&
    requires(const T& path, std::span<std::byte> message) {
    // The beginning of a message that is number and tag, no content.
    { T::header_bytes } -> std::convertible_to<std::size_t>;
    // Makes a message the end's own, once it has its number: nothing of it may change any more.
    { path.seal(message) } -> std::same_as<void>;
};

// Called before a message is sent.
template <class Path>
void seal(const Path& path, std::span<std::byte> message) {
    if constexpr (SealingTransport<Path>) {
        path.seal(message);
    }
}

// send() and receive() may be called by one thread each, at the same time.
template <class T>
concept ConcurrentTransport = MessageTransport<T> && requires(T& t) {
    requires static_cast<bool>(T::concurrent);
    // Ends both calls, now and in future, with a Failure.
    { t.interrupt() } -> std::same_as<void>;
};

// One thread sends a message and receives another at the same time.
template <class T>
concept ExchangeTransport = MessageTransport<T> &&
    requires(T& t, std::span<const std::byte> out, std::span<std::byte> in) {
    { t.exchange(out, in) } -> std::same_as<void>;
};

// Messages may be on their way while the next ones are begun: send() may return before the message
// has left its memory.
template <class T>
concept PostingTransport = MessageTransport<T> && requires(T& t, std::span<std::byte> spare) {
    // Returns when the memory of every message sent may change.
    { t.settle() } -> std::same_as<void>;
    // The next message: in `spare`, or in memory of the transport that holds until the next call.
    { t.receive_next(spare) } -> std::same_as<std::span<std::byte>>;
    // Nothing more will come.
    { t.withdraw() } -> std::same_as<void>;
};

// Messages are packed before they are sent and unpacked after they came, which is not to be timed.
template <class T>
concept PackingTransport =
    MessageTransport<T> && !T::datagrams &&
    requires(T & t, std::span<const std::byte> out, std::span<std::byte> in) {
    // What send() sends from now on.
    { t.prepare(out) } -> std::same_as<void>;
    // This end sends back what it received, as it came.
    { t.answer_as_received() } -> std::same_as<void>;
    // The message that came last; receive() left it packed.
    { t.take(in) } -> std::same_as<void>;
};

// One end that asks many partners and is asked by them; it may be its own partner. A question and
// its answer are messages; partners are numbers.
template <class T>
concept MeshTransport = requires(T& t, int partner, std::span<const std::byte> out,
                                 std::span<std::byte> in) {
    // The next question will come into `in`; called again for each further one.
    { t.listen(in) } -> std::same_as<void>;
    // Begins: the question leaves from `out`, its answer will come into `in`. One at a time.
    { t.ask(partner, out, in) } -> std::same_as<void>;
    // Waits until the answer is there or somebody asks: who asks, none where it is the answer.
    { t.await() } -> std::same_as<std::optional<int>>;
    // `out` may change when this returns.
    { t.answer(partner, out) } -> std::same_as<void>;
};

// What the kernel noted of one message that was sent: ns of CLOCK_REALTIME, 0 where it said
// nothing.
struct MessageStamps {
    std::int64_t queued_ns = 0; // it reached the device's queue
    std::int64_t driver_ns = 0; // the driver got it
    bool sent_again = false;    // the driver got it more than once
};

// A path on which the kernel says when each message passed it.
template <class T>
concept StampedTransport = MessageTransport<T> && requires(T& t, const T& path) {
    // Takes the stamps that are there, never waiting; then waits for what is missing, bounded.
    { t.collect_stamps() } -> std::same_as<void>;
    { t.await_stamps() } -> std::same_as<void>;
    // Of the messages sent, in their order.
    { path.stamps() } -> std::same_as<std::span<const MessageStamps>>;
    // When the driver handed over what was received last; 0 where the kernel said nothing.
    { path.arrival_ns() } -> std::same_as<std::int64_t>;
};

// A reliable side channel between the same two ends, silent while a test runs (Hpcbench's data
// channel). Frames have a fixed size; anything unexpected throws Failure("peer_lost").
struct Frame {
    enum class Kind : std::uint16_t {
        sync1 = 1,
        ack_sync,
        sync2,
        sent,
        received,
        ready,
        abort,
        next
    };
    Kind kind = Kind::abort;
    std::uint64_t first = 0;  // sync1: batch; ack_sync: ns of the sender's clock when sync1 came;
                              // sent, received: messages; next: ns of the sender's clock when the
                              // round starts
    std::uint64_t second = 0; // sync1: fingerprint of the request; ack_sync: ns of the sender's
                              // clock when it answered; sent, received: bytes
    std::uint16_t detail = 0; // sync1: settling_exchange or 0; sent: an EndedBy; abort: why, as the
                              // channel defines it; next: 0 where there is no other round
    std::uint64_t third = 0;  // received: ns from the last arrival to this frame
};

template <class T>
concept ControlChannel = requires(T& t, const Frame& frame, Frame::Kind kind) {
    { t.send(frame) } -> std::same_as<void>;
    { t.expect(kind) } -> std::same_as<Frame>;
};

// A control channel that can be asked without waiting; what a test over datagrams needs.
template <class T>
concept PollableControl = ControlChannel<T> && requires(T& t) {
    // True when expect() would not wait: a frame is there or the peer is gone.
    { t.arrived() } -> std::same_as<bool>;
};

} // namespace sonde
