// ICMP echoes: headers, and round trips with a kernel that is played by a thread.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "core/echo.hpp"
#include "play.hpp"
#include "test/alone.hpp"
#include "transport/socket/echo_path.hpp"
#include "transport/socket/echoes.hpp"
#include "transport/socket/sockets.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("echoes");

namespace {

using Packet = std::vector<std::byte>;
using Packets = std::vector<Packet>;

constexpr std::uint16_t identifier = 0x1234;

Packet bytes_of(std::initializer_list<int> values) {
    Packet packet;
    for (const int value : values) {
        packet.push_back(static_cast<std::byte>(value));
    }
    return packet;
}

// RFC 1071 as it is written: words of 16 bits in network order.
std::uint16_t plain_sum(const Packet& packet) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < packet.size(); i += 2) {
        const unsigned low = i + 1 < packet.size() ? std::to_integer<unsigned>(packet[i + 1]) : 0;
        sum += std::to_integer<unsigned>(packet[i]) << 8U | low;
        sum = (sum & UINT16_MAX) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(sum);
}

Packet ipv4_header() {
    Packet header(plain_ipv4_header_bytes, std::byte{0});
    header[0] = std::byte{0x45};
    return header;
}

// What the played kernel does with a request, by its number: the packets that it sends.
using Answers = std::function<Packets(std::uint64_t number, const Packet& request)>;

Packet answer_to(Packet request, EchoSocketKind kind) {
    const bool of_ipv6 = kind == EchoSocketKind::ping_ipv6 || kind == EchoSocketKind::raw_ipv6;
    request[0] = static_cast<std::byte>(of_ipv6 ? echo_reply_ipv6 : echo_reply_ipv4);
    if (kind != EchoSocketKind::raw_ipv4) {
        return request;
    }
    Packet packet = ipv4_header();
    packet.insert(packet.end(), request.begin(), request.end());
    return packet;
}

Answers plainly(EchoSocketKind kind) {
    return
        [kind](std::uint64_t, const Packet& request) { return Packets{answer_to(request, kind)}; };
}

// A socket whose other end is the played kernel.
class Kernel {
public:
    Kernel(EchoSocketKind kind, Answers answers)
        : echoes_(kind, identifier), answers_(std::move(answers)) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        ours_ = Descriptor(ends[0]);
        theirs_ = Descriptor(ends[1]);
        set_patience(ours_.get(), datagram_patience_ns);
        const timeval longest{1, 0}; // nobody reads any more
        REQUIRE(::setsockopt(theirs_.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest) ==
                0);
        thread_ = std::thread([this] { serve(); });
    }
    ~Kernel() {
        ended_ = true;
        thread_.join();
    }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    template <class Wait = BlockingWait>
    Result run(const RunParameters& parameters, std::uint32_t batch = 1) {
        EchoPath<Wait> path(ours_.get(), echoes_, interrupted_);
        RoundTripOrigin<EchoPath<Wait>> end(parameters);
        Timebase timebase;
        Start start;
        start.batch = batch;
        Result result =
            play_alone(path, start, timebase, BatchHooks{[] {}, [] {}},
                       [&]<class Clock>(EchoPath<Wait>& on, Clock /*clock*/, const Start& from) {
                           end.template play<Clock>(on, from);
                       });
        end.report(result, timebase);
        return result;
    }

    void send(const Packet& packet) const {
        (void)::send(theirs_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
    }
    void interrupt() {
        interrupted_ = true;
        ::shutdown(ours_.get(), SHUT_RDWR);
    }

private:
    void serve() {
        for (std::uint64_t number = 0; !ended_;) {
            pollfd readable{theirs_.get(), POLLIN, 0};
            Packet request(65'536);
            if (::poll(&readable, 1, 10) <= 0) {
                continue;
            }
            const ssize_t got = ::recv(theirs_.get(), request.data(), request.size(), MSG_DONTWAIT);
            if (got <= 0) {
                continue;
            }
            request.resize(static_cast<std::size_t>(got));
            for (const Packet& packet : answers_(number++, request)) {
                send(packet);
            }
        }
    }

    Echoes echoes_;
    Answers answers_;
    Descriptor ours_;
    Descriptor theirs_;
    std::atomic<bool> interrupted_ = false;
    std::atomic<bool> ended_ = false;
    std::thread thread_;
};

RunParameters echoes_of(std::uint64_t count, std::size_t message_bytes) {
    RunParameters run = fakes::run_of(Test::latency, count, message_bytes);
    run.check_data = true;
    return run;
}

// As a process that is not scheduled for longer than the patience.
struct SleepyWait {
    static constexpr int flags = MSG_DONTWAIT;
    static void await(int /*fd*/, short /*events*/) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(datagram_patience_ns + 50'000'000));
    }
};

std::int64_t counter(const Result& result, const std::string& name) {
    return result.counters.at(name);
}

constexpr std::array kinds{EchoSocketKind::ping_ipv4, EchoSocketKind::raw_ipv4,
                           EchoSocketKind::ping_ipv6, EchoSocketKind::raw_ipv6};

} // namespace

TEST_CASE("a header lies in the packet as the RFC says") {
    const EchoHeader::Packed packed = EchoHeader{8, 0x1234, 0x5678}.packed();
    CHECK(Packet(packed.begin(), packed.end()) == bytes_of({8, 0, 0, 0, 0x12, 0x34, 0x56, 0x78}));
    const auto read = read_echo(packed);
    REQUIRE(read);
    CHECK(read->type == 8);
    CHECK(read->identifier == 0x1234);
    CHECK(read->sequence == 0x5678);
}

TEST_CASE("with its checksum a packet of any length sums to ones") {
    for (const std::size_t bytes : {0U, 1U, 2U, 3U, 5U, 56U, 1471U, 65'507U}) {
        Payload payload(bytes, 3);
        const std::span<const std::byte> content = payload.bytes();
        EchoHeader::Packed header = EchoHeader{8, 0xFFFF, 7}.packed();
        set_checksum(header, content);
        Packet packet(header.begin(), header.end());
        packet.insert(packet.end(), content.begin(), content.end());
        CHECK(plain_sum(packet) == 0xFFFF);
    }
}

TEST_CASE("what is no whole echo has no header") {
    const Packet echo = bytes_of({0, 0, 9, 9, 0x12, 0x34, 0, 1});
    for (std::size_t length = 0; length < echo.size(); ++length) {
        CHECK(!read_echo(std::span(echo).first(length)));
    }
    Packet with_code = echo;
    with_code[1] = std::byte{3};
    CHECK(!read_echo(with_code));

    Packet packet = ipv4_header();
    packet.insert(packet.end(), echo.begin(), echo.end());
    REQUIRE(read_echo_in_ipv4(packet));
    CHECK(read_echo_in_ipv4(packet)->sequence == 1);
    for (std::size_t length = 0; length < packet.size(); ++length) {
        CHECK(!read_echo_in_ipv4(std::span(packet).first(length)));
    }
    for (const int first : {0x46, 0x4F, 0x40, 0x60, 0x00}) { // options, or no IPv4
        packet[0] = static_cast<std::byte>(first);
        CHECK(!read_echo_in_ipv4(packet));
    }
}

TEST_CASE("a sequence number stands for the message that had it last") {
    Echoes echoes(EchoSocketKind::ping_ipv4, identifier);
    CHECK(!echoes.number_of(1));
    std::uint16_t sequence = 0;
    for (std::uint64_t number = 100; number < 70'100; ++number) {
        sequence = echoes.next_sequence(number);
    }
    CHECK(echoes.number_of(sequence) == 70'099);
    CHECK(echoes.number_of(static_cast<std::uint16_t>(sequence + 1)) == 70'100 - 65'536);
}

TEST_CASE("every echo is answered and timed, of either family and by either socket") {
    for (const EchoSocketKind kind : kinds) {
        for (const std::size_t bytes : {0U, 1U, 7U, 64U, 20'000U}) {
            Kernel kernel(kind, plainly(kind));
            const Result result = kernel.run(echoes_of(50, bytes));
            CHECK(fakes::length_of(result, "round_trip_ns") == 50);
            CHECK(counter(result, "messages_received") == 50);
            CHECK(counter(result, "calls_sent") == 50);
            CHECK(counter(result, "corrupt") == 0);
            CHECK(counter(result, "foreign_packets") == 0);
            CHECK(counter(result, "duplicates") == 0);
            CHECK(counter(result, "end_ns") > counter(result, "start_ns"));
        }
    }
}

TEST_CASE("every way of waiting finds the answers, and gives up what is lost") {
    const auto lost_third = [](std::uint64_t number, const Packet& request) {
        return number == 3 ? Packets{} : Packets{answer_to(request, EchoSocketKind::raw_ipv4)};
    };
    const auto check = [](const Result& result) {
        CHECK(fakes::length_of(result, "round_trip_ns") == 9);
        CHECK(fakes::series_of(result, "unanswered_index")->values == std::vector<std::int64_t>{3});
        CHECK(counter(result, "unanswered") == 1);
        CHECK(counter(result, "messages_sent") == 10);
    };
    check(Kernel(EchoSocketKind::raw_ipv4, lost_third).run<BlockingWait>(echoes_of(10, 64)));
    check(Kernel(EchoSocketKind::raw_ipv4, lost_third).run<SpinningWait>(echoes_of(10, 64)));
    check(Kernel(EchoSocketKind::raw_ipv4, lost_third).run<ReadinessWait>(echoes_of(10, 64)));
}

TEST_CASE("a late answer and repeated ones are told from the one that is waited for") {
    for (const std::size_t bytes : {0U, 64U}) {
        Packet held;
        Kernel kernel(EchoSocketKind::ping_ipv4,
                      [&held](std::uint64_t number, const Packet& request) {
                          const Packet answer = answer_to(request, EchoSocketKind::ping_ipv4);
                          if (number == 3) {
                              held = answer;
                              return Packets{};
                          }
                          if (number == 4) {
                              return Packets{held, answer};
                          }
                          return Packets(number == 6 ? 3 : 1, answer);
                      });
        const Result result = kernel.run(echoes_of(10, bytes));
        CHECK(fakes::series_of(result, "unanswered_index")->values == std::vector<std::int64_t>{3});
        CHECK(counter(result, "late_answers") == 1);
        CHECK(counter(result, "duplicates") == 2);
        CHECK(counter(result, "messages_received") == 9);
        CHECK(counter(result, "foreign_packets") == 0);
    }
}

TEST_CASE("malformed, short and foreign packets answer nothing and are counted") {
    for (const EchoSocketKind kind : kinds) {
        const std::size_t icmp = kind == EchoSocketKind::raw_ipv4 ? plain_ipv4_header_bytes : 0;
        Kernel kernel(kind, [kind, icmp](std::uint64_t, const Packet& request) {
            const Packet answer = answer_to(request, kind);
            const auto changed = [&answer, icmp](std::size_t place, int value) {
                Packet other = answer;
                other[icmp + place] = static_cast<std::byte>(value);
                return other;
            };
            Packet longer = answer;
            longer.push_back(std::byte{1});
            const Packet shorter(answer.begin(), answer.end() - 1);
            const Packet header_only(answer.begin(),
                                     answer.begin() + static_cast<std::ptrdiff_t>(icmp + 8));
            return Packets{
                bytes_of({0}),    bytes_of({0, 0, 0, 0, 0, 0, 0}), header_only, shorter, longer,
                changed(0, 8),    // a request
                changed(0, 3),    // unreachable
                changed(1, 1),    // a code
                changed(4, 0x99), // another program's
                changed(6, 0xEE), // a sequence that nobody sent
                answer,
            };
        });
        const Result result = kernel.run(echoes_of(20, 64));
        CHECK(counter(result, "unanswered") == 0);
        CHECK(counter(result, "messages_received") == 20);
        CHECK(counter(result, "foreign_packets") == 200);
        CHECK(counter(result, "late_answers") == 0);
        CHECK(counter(result, "duplicates") == 0);
        CHECK(counter(result, "corrupt") == 0);
    }
}

TEST_CASE("content that was changed on the way is counted") {
    Kernel kernel(EchoSocketKind::ping_ipv6, [](std::uint64_t number, const Packet& request) {
        Packet answer = answer_to(request, EchoSocketKind::ping_ipv6);
        answer.back() = number == 5 ? ~answer.back() : answer.back();
        return Packets{answer};
    });
    CHECK(counter(kernel.run(echoes_of(10, 1)), "corrupt") == 1);
}

TEST_CASE("foreign packets without end do not make an echo be waited for without end") {
    Kernel* playing = nullptr;
    std::atomic<bool> done = false;
    Kernel kernel(EchoSocketKind::ping_ipv4, [&](std::uint64_t, const Packet& request) {
        while (!done) {
            playing->send(request); // its own request is no answer
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return Packets{};
    });
    playing = &kernel;
    const Result result = kernel.run(echoes_of(1, 64)); // ctest's time-out where it does not end
    done = true;
    CHECK(counter(result, "unanswered") == 1);
    CHECK(counter(result, "foreign_packets") > 0);
}

TEST_CASE("an answer that is there when the process runs again is taken, late as it is") {
    Kernel kernel(EchoSocketKind::ping_ipv4, [](std::uint64_t, const Packet& request) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return Packets{request, request, answer_to(request, EchoSocketKind::ping_ipv4)};
    });
    const Result result = kernel.run<SleepyWait>(echoes_of(2, 64));
    CHECK(counter(result, "unanswered") == 0);
    CHECK(counter(result, "foreign_packets") == 4);
}

TEST_CASE("a straggler of an earlier batch answers nothing in this one") {
    Packet first;
    Kernel kernel(EchoSocketKind::ping_ipv4, [&first](std::uint64_t number, const Packet& request) {
        const Packet answer = answer_to(request, EchoSocketKind::ping_ipv4);
        first = number == 0 ? answer : first;
        return number == 7 ? Packets{first, answer} : Packets{answer};
    });
    (void)kernel.run(echoes_of(5, 64), 1);
    const Result result = kernel.run(echoes_of(5, 64), 2);
    CHECK(counter(result, "messages_received") == 5);
    CHECK(counter(result, "late_answers") == 0);
    CHECK(counter(result, "duplicates") == 0);
}

TEST_CASE("an interruption ends the wait") {
    Kernel kernel(EchoSocketKind::ping_ipv4,
                  [](std::uint64_t, const Packet&) { return Packets{}; });
    std::thread interrupting([&kernel] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        kernel.interrupt();
    });
    CHECK_THROWS_AS((void)kernel.run(echoes_of(1'000'000, 64)), Failure);
    interrupting.join();
}

TEST_SUITE_END();
