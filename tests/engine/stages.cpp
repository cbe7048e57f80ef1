// Where the time of a round trip goes: stages from stamps and clocks, numbers of stamps, and the
// kernel's own stamps over loopback.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <atomic>

#include "socket_pairs.hpp"
#include "test/stages.hpp"
#include "transport/socket/kernel_times.hpp"
#include "transport/socket/tcp_path.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/waits.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("stages");

namespace {

constexpr std::int64_t epoch_ns = 1'700'000'000'000'000'000;

// A clock of 2 ticks a ns from 1000 on, beside CLOCK_REALTIME; an exchange within 100 us.
NotedExchange exchange() {
    NotedExchange noted;
    noted.before = {1'000, epoch_ns, 40};
    noted.after = {201'000, epoch_ns + 100'000, 60};
    noted.first = 21'000;   // 10 us
    noted.second = 161'000; // 80 us
    noted.arrival_ns = epoch_ns + 70'000;
    return noted;
}

MessageStamps stamps() { return {epoch_ns + 12'000, epoch_ns + 15'000, false}; }

// Sends messages that nobody has to answer, and says which lack a stamp or have them in disorder.
template <class Path>
int wrong_stamps(const SocketPair& pair, std::uint64_t count, std::size_t message_bytes,
                 std::size_t call_bytes) {
    const std::atomic<bool> interrupted = false;
    Path path(pair.a.get(), count, interrupted);
    const std::vector<std::byte> message(message_bytes);
    std::vector<std::byte> into(message_bytes);
    int wrong = 0;
    std::vector<std::int64_t> begins;
    for (std::uint64_t i = 0; i < count; ++i) {
        begins.push_back(real_ns());
        path.send(message, call_bytes);
        path.collect_stamps();
        std::size_t got = 0;
        while (got < message_bytes) {
            const ssize_t more = ::recv(pair.b.get(), into.data(), message_bytes - got, 0);
            REQUIRE(more > 0);
            got += static_cast<std::size_t>(more);
        }
    }
    path.await_stamps();
    const std::int64_t end_ns = real_ns();
    const auto found = path.stamps();
    REQUIRE(found.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t next_ns = i + 1 < count ? begins[i + 1] : end_ns;
        const bool right = begins[i] <= found[i].queued_ns &&
                           found[i].queued_ns <= found[i].driver_ns &&
                           found[i].driver_ns <= next_ns;
        wrong += right ? 0 : 1;
    }
    return wrong;
}

} // namespace

TEST_CASE("the stages of both ends are those of their stamps") {
    StagesMissing missing;
    const auto origin = split(exchange(), stamps(), true, 0.5, missing);
    REQUIRE(origin);
    CHECK(origin->send_to_queue_ns == 2'000);
    CHECK(origin->queue_to_driver_ns == 3'000);
    CHECK(origin->between_ns == 55'000);
    CHECK(origin->driver_to_receive_ns == 10'000);
    CHECK(missing.worst_pairing_ns == 15); // half of 60 ticks

    NotedExchange noted = exchange();
    noted.arrival_ns = epoch_ns + 4'000;
    const MessageStamps sent{epoch_ns + 81'000, epoch_ns + 85'000, false};
    const auto target = split(noted, sent, false, 0.5, missing);
    REQUIRE(target);
    CHECK(target->driver_to_receive_ns == 6'000);
    CHECK(target->between_ns == 70'000);
    CHECK(target->send_to_queue_ns == 1'000);
    CHECK(target->queue_to_driver_ns == 4'000);
    CHECK(missing.queue + missing.driver + missing.arrival + missing.sent_again + missing.clock ==
          0);
}

TEST_CASE("a clock that runs too fast is followed") {
    NotedExchange noted = exchange();
    noted.after.ns = epoch_ns + 100'050; // 500 millionths
    StagesMissing missing;
    const auto origin = split(noted, stamps(), true, 0.5, missing);
    REQUIRE(origin);
    CHECK(origin->send_to_queue_ns == 1'995);
    CHECK(origin->driver_to_receive_ns == 10'040);
}

TEST_CASE("what is not known is counted and never guessed") {
    StagesMissing missing;
    MessageStamps lacking = stamps();
    lacking.queued_ns = 0;
    CHECK_FALSE(split(exchange(), lacking, true, 0.5, missing));
    lacking = stamps();
    lacking.driver_ns = 0;
    CHECK_FALSE(split(exchange(), lacking, true, 0.5, missing));
    lacking = stamps();
    lacking.sent_again = true;
    CHECK_FALSE(split(exchange(), lacking, true, 0.5, missing));
    NotedExchange noted = exchange();
    noted.arrival_ns = 0;
    CHECK_FALSE(split(noted, stamps(), true, 0.5, missing));
    CHECK(missing.queue == 1);
    CHECK(missing.driver == 1);
    CHECK(missing.sent_again == 1);
    CHECK(missing.arrival == 1);
    CHECK(missing.clock == 0);
}

TEST_CASE("a clock that was set meanwhile, or read too loosely, is no clock") {
    for (const std::int64_t step_ns : {-1'000'000'000, -1'000, 1'000, 1'000'000'000}) {
        StagesMissing missing;
        NotedExchange noted = exchange();
        noted.after.ns += step_ns;
        CHECK_FALSE(split(noted, stamps(), true, 0.5, missing));
        CHECK(missing.clock == 1);
    }
    StagesMissing missing;
    NotedExchange noted = exchange();
    noted.before.width_ticks = 20'000; // 10 us
    CHECK_FALSE(split(noted, stamps(), true, 0.5, missing));
    CHECK(missing.clock == 1);
}

TEST_CASE("two clocks are read together, closely") {
    const ClockPair pair = pair_clocks<MonotonicClock>();
    CHECK(pair.width_ticks < 1'000'000);
    CHECK(std::abs(real_ns() - pair.ns) < 1'000'000'000);
}

TEST_CASE("a stamp's number means a message") {
    constexpr std::uint64_t nobody = UINT64_MAX;
    CHECK(stamped_message(0, 1, 64, true) == 0);
    CHECK(stamped_message(4, 9, 64, true) == 4);
    CHECK(stamped_message(9, 9, 64, true) == nobody); // not sent yet
    CHECK(stamped_message(63, 1, 64, false) == 0);
    CHECK(stamped_message(191, 3, 64, false) == 2);
    CHECK(stamped_message(190, 3, 64, false) == nobody); // not its last byte
    // Beyond 32 bits: of 70,000 messages of 64 KiB, the last two.
    const std::uint64_t bytes = 65'536;
    CHECK(stamped_message(static_cast<std::uint32_t>(70'000 * bytes - 1), 70'000, bytes, false) ==
          69'999);
    CHECK(stamped_message(static_cast<std::uint32_t>(69'999 * bytes - 1), 70'000, bytes, false) ==
          69'998);
}

TEST_CASE("the kernel stamps every message that goes over loopback") {
    using Tcp = StampedPath<TcpPath<BlockingWait, CopySending, StampedReceiving>>;
    using Udp = StampedPath<UdpPath<BlockingWait, StampedReceiving>>;
    const SocketPair tcp = tcp_pair();
    const SocketPair udp = udp_pair();
    CHECK(wrong_stamps<Tcp>(tcp, 50, 64, 64) == 0);
    CHECK(wrong_stamps<Tcp>(tcp, 20, 1, 1) == 0);
    CHECK(wrong_stamps<Tcp>(tcp, 20, 5'000, 512) == 0); // in pieces: the last one's counts
    CHECK(wrong_stamps<Udp>(udp, 50, 64, 64) == 0);
    CHECK(wrong_stamps<Udp>(udp, 50, 1'000, 64) == 0); // a second batch counts from 0
}

TEST_CASE("an arrival has the kernel's stamp, and only its own") {
    const SocketPair udp = udp_pair();
    REQUIRE(stamp_arrivals(udp.b.get()));
    StampedReceiving taking;
    std::array<std::byte, 8> message{};
    const std::int64_t begin_ns = real_ns();
    REQUIRE(::send(udp.a.get(), message.data(), message.size(), 0) == 8);
    REQUIRE(taking.receive(udp.b.get(), message, 0) == 8);
    const std::int64_t arrival_ns = taking.arrival_ns();
    CHECK(arrival_ns >= begin_ns);
    CHECK(arrival_ns <= real_ns());
    const unsigned none = 0;
    REQUIRE(::setsockopt(udp.b.get(), SOL_SOCKET, SO_TIMESTAMPING, &none, sizeof none) == 0);
    REQUIRE(::send(udp.a.get(), message.data(), message.size(), 0) == 8);
    REQUIRE(taking.receive(udp.b.get(), message, 0) == 8);
    CHECK(taking.arrival_ns() == 0);
}
