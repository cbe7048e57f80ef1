// Datagrams over real sockets: many in one call, and what their times are.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/clock.hpp"
#include "socket_pairs.hpp"
#include "test/datagram_stream.hpp"
#include "transport/socket/datagram_counters.hpp"
#include "transport/socket/udp_batch_path.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("datagram_calls");

namespace {

constexpr std::size_t size_bytes = 64;

std::vector<std::byte> numbered(std::uint32_t index, std::size_t bytes = size_bytes) {
    std::vector<std::byte> datagram(bytes, std::byte{0x5A});
    SequenceNumber{index, 7, false}.write(datagram);
    return datagram;
}

// Counts its readings, some time apart.
struct CountingClock {
    static inline std::uint64_t readings = 0; // NOLINT: a clock has no object
    static std::uint64_t now() noexcept { return ++readings * 1'000; }
};

struct Nobody {};

// Counts what a receiver to whom nothing comes asks of the kernel.
struct NothingThere {
    static inline int asked = 0;  // NOLINT: a path makes its own
    static inline int waited = 0; // NOLINT
    static ssize_t receive(int /*fd*/, std::span<std::byte> /*into*/, int flags) noexcept {
        ++((flags & MSG_DONTWAIT) != 0 ? asked : waited);
        errno = EAGAIN;
        return -1;
    }
};

} // namespace

TEST_CASE("many datagrams in a call arrive one by one, in order and whole") {
    for (const bool offload : {false, true}) {
        CAPTURE(offload);
        const SocketPair pair = udp_pair();
        const std::atomic<bool> interrupted = false;
        UdpBatchPath<BlockingWait> origin(pair.a.get(), interrupted, size_bytes, 64, offload);
        UdpBatchPath<BlockingWait> target(pair.b.get(), interrupted, size_bytes, 64, offload);
        std::vector<std::byte> into(size_bytes);
        for (std::uint32_t round = 0; round < 5; ++round) {
            const std::uint32_t count = 64 + 17 * round; // full calls and a rest
            for (std::uint32_t i = 0; i < count; ++i) {
                origin.send(numbered(i), size_bytes);
            }
            origin.flush();
            for (std::uint32_t i = 0; i < count; ++i) {
                REQUIRE(target.receive_following(into, size_bytes) == size_bytes);
                REQUIRE(into == numbered(i));
            }
        }
        CHECK(origin.calls_sent() == 1 + 2 + 2 + 2 + 3);
        CHECK(target.calls_received() < 5 * 64);
    }
}

TEST_CASE("datagrams are made and read where they lie") {
    const SocketPair pair = udp_pair();
    const std::atomic<bool> interrupted = false;
    UdpBatchPath<BlockingWait> origin(pair.a.get(), interrupted, size_bytes, 128, true);
    UdpBatchPath<BlockingWait> target(pair.b.get(), interrupted, size_bytes, 128, true);
    const std::vector<std::byte> content(size_bytes, std::byte{0x5A});
    origin.fill(content);
    std::uint32_t index = 0;
    for (std::uint32_t i = 0; i < 300; ++i) { // two calls and a rest
        SequenceNumber{i, 7, false}.write(origin.place());
        origin.send_placed();
        if (i % 128 == 127 || i == 299) {
            origin.flush();
            for (; index <= i; ++index) {
                const auto there = target.look_following();
                REQUIRE(there.size() == size_bytes);
                REQUIRE(std::ranges::equal(there, numbered(index)));
            }
        }
    }
    CHECK(origin.calls_sent() == 3);
}

TEST_CASE("a receiver asks as often as it is told before it waits") {
    const std::atomic<bool> interrupted = false;
    std::vector<std::byte> into(size_bytes);
    for (const int asks : {0, 3}) {
        UdpPath<BlockingWait, NothingThere> target(-1, interrupted, asks);
        NothingThere::asked = NothingThere::waited = 0;
        CHECK(target.receive_following(into, size_bytes) == nothing_received);
        CHECK(NothingThere::asked == asks);
        CHECK(NothingThere::waited == 1);
    }
}

TEST_CASE("a stranger's length among joined datagrams is told") {
    const SocketPair pair = udp_pair();
    const std::atomic<bool> interrupted = false;
    UdpBatchPath<BlockingWait> origin(pair.a.get(), interrupted, size_bytes, 8, true);
    UdpBatchPath<BlockingWait> target(pair.b.get(), interrupted, size_bytes, 8, true);
    std::vector<std::byte> into(size_bytes);
    for (const std::size_t other : {std::size_t{8}, std::size_t{1'000}, std::size_t{0}}) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            origin.send(numbered(i), size_bytes);
        }
        origin.flush();
        const std::vector<std::byte> stranger(other, std::byte{1});
        REQUIRE(::send(pair.a.get(), stranger.data(), other, 0) == static_cast<ssize_t>(other));
        for (std::uint32_t i = 0; i < 3; ++i) {
            REQUIRE(target.receive(into, size_bytes) == size_bytes);
            REQUIRE(into == numbered(i));
        }
        CHECK(target.receive(into, size_bytes) == other);
    }
}

TEST_CASE("what was joined is still told apart after some was thrown away") {
    const SocketPair pair = udp_pair();
    const std::atomic<bool> interrupted = false;
    UdpBatchPath<BlockingWait> origin(pair.a.get(), interrupted, size_bytes, 8, true);
    UdpBatchPath<BlockingWait> target(pair.b.get(), interrupted, size_bytes, 8, true);
    std::vector<std::byte> into(size_bytes);
    for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint32_t i = 0; i < 8; ++i) {
            origin.send(numbered(i), size_bytes);
        }
        REQUIRE(target.receive(into, size_bytes) == size_bytes);
        REQUIRE(into == numbered(0));
        target.drain();
    }
}

TEST_CASE("datagrams of one call have the time of its return, at both ends") {
    const SocketPair pair = udp_pair();
    const std::atomic<bool> interrupted = false;
    UdpBatchPath<BlockingWait> out(pair.a.get(), interrupted, size_bytes, 16, true);
    UdpBatchPath<BlockingWait> in(pair.b.get(), interrupted, size_bytes, 16, true);
    RunParameters run;
    run.test = Test::stream;
    run.message_bytes = size_bytes;
    run.call_bytes = size_bytes;
    run.count = 40;
    Start start;
    const Timebase timebase;
    Nobody nobody;
    DatagramSender<UdpBatchPath<BlockingWait>> sender(run);
    DatagramReceiver<UdpBatchPath<BlockingWait>> receiver(run);
    CountingClock::readings = 0;
    sender.play<CountingClock>(out, start, timebase, nobody);
    // At the start, after each of three calls, at the end and when all had left.
    CHECK(CountingClock::readings <= 1 + 3 + 2);
    auto ended = [&] { return std::optional(sender.sent()); };
    const std::uint64_t before = CountingClock::readings;
    receiver.play<CountingClock>(in, start, ended);
    CHECK(CountingClock::readings - before == in.calls_received());
    CHECK(receiver.received().messages == 40);
    Result sent;
    Result received;
    sender.report(sent, start, timebase);
    receiver.report(received, start, sender.sent(), timebase);
    for (const Result* result : {&sent, &received}) {
        const auto& times = result->series.front().values;
        REQUIRE(times.size() == 40);
        CHECK(times[0] == times[15]);
        CHECK(times[16] == times[31]);
        CHECK(std::ranges::is_sorted(times));
    }
    CHECK(sent.series.front().values[15] < sent.series.front().values[16]);
}

TEST_CASE("a socket knows how many datagrams found its buffer full") {
    const SocketPair pair = udp_pair();
    CHECK(datagram_counters(pair.b.get()) == std::map<std::string, std::int64_t>{{"drops", 0}});
    const int small_bytes = 1;
    REQUIRE(::setsockopt(pair.b.get(), SOL_SOCKET, SO_RCVBUF, &small_bytes, sizeof small_bytes) ==
            0);
    const std::array<char, 1000> datagram{};
    constexpr int sent = 50;
    for (int i = 0; i < sent; ++i) {
        REQUIRE(::send(pair.a.get(), datagram.data(), datagram.size(), 0) == 1000);
    }
    std::array<char, 1000> taken{};
    int received = 0;
    while (::recv(pair.b.get(), taken.data(), taken.size(), MSG_DONTWAIT) > 0) {
        ++received;
    }
    CHECK(received < sent);
    CHECK(datagram_counters(pair.b.get()).at("drops") == sent - received);
}

TEST_CASE("only datagram sockets have such a counter") {
    const SocketPair pair = tcp_pair();
    CHECK(datagram_counters(pair.a.get()).empty());
    CHECK(datagram_counters(-1).empty());
}

TEST_SUITE_END();
