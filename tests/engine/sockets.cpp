// The socket transport's parts: greetings, addresses, options.
#include <doctest/doctest.h>

#include <netinet/tcp.h>

#include <atomic>
#include <vector>

#include "core/failure.hpp"
#include "socket_pairs.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/greeting.hpp"
#include "transport/socket/options.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/source.hpp"
#include "transport/socket/tcp_path.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("sockets");

namespace {

SocketOptions read(const json& options, bool tcp = true) {
    Fields fields(json{{"options", options}});
    return read_socket_options(fields, tcp);
}

} // namespace

TEST_CASE("a greeting is known by its cookie and nothing else") {
    const Admission cookie{parse_cookie("000102030405060708090a0b0c0d0e0f")};
    const Admission other{parse_cookie("000102030405060708090a0b0c0d0e10")};
    const Greeting greeting = make_greeting(Purpose::test, cookie);
    CHECK(read_greeting(greeting, cookie) == Purpose::test);
    CHECK(read_greeting(greeting, other) == std::nullopt);
    CHECK(read_greeting(std::span(greeting).first(31), cookie) == std::nullopt);
    for (std::size_t place = 0; place < greeting.size(); ++place) {
        Greeting changed = greeting;
        changed[place] ^= std::byte{0x10};
        CHECK(read_greeting(changed, cookie) == std::nullopt);
    }
}

TEST_CASE("a cookie is 32 hexadecimal digits") {
    CHECK_THROWS_AS((void)parse_cookie(""), Failure);
    CHECK_THROWS_AS((void)parse_cookie("000102030405060708090a0b0c0d0e0"), Failure);
    CHECK_THROWS_AS((void)parse_cookie("000102030405060708090a0b0c0d0e0G"), Failure);
    CHECK_THROWS_AS((void)parse_cookie("000102030405060708090A0B0C0D0E0F"), Failure);
}

TEST_CASE("addresses are numeric and of the family asked for") {
    const SocketAddress four(Family::ipv4, "127.0.0.1", 80);
    const SocketAddress six(Family::ipv6, "::1", 81);
    CHECK(four.text() == "127.0.0.1 port 80");
    CHECK(six.address() == "::1");
    CHECK(six.port() == 81);
    CHECK(four.same_host(SocketAddress(Family::ipv4, "127.0.0.1", 99)));
    CHECK(!four.same_host(SocketAddress(Family::ipv4, "127.0.0.2", 80)));
    CHECK(!four.same_host(six));
    CHECK(six.same_host(SocketAddress(Family::ipv6, "0:0::1", 0)));
    CHECK_THROWS_AS(SocketAddress(Family::ipv4, "::1", 1), Failure);
    CHECK_THROWS_AS(SocketAddress(Family::ipv6, "127.0.0.1", 1), Failure);
    CHECK_THROWS_AS(SocketAddress(Family::ipv4, "localhost", 1), Failure);
    CHECK_THROWS_AS(SocketAddress(Family::ipv4, "", 1), Failure);
}

TEST_CASE("an IPv6 address has the scope that it was written with") {
    const auto said = [](const char* text) { return SocketAddress(Family::ipv6, text, 9).text(); };
    CHECK(said("fe80::1%lo") == "fe80::1%lo port 9");
    CHECK(said("fe80::1%1") == "fe80::1%lo port 9"); // the loopback device is the first
    CHECK(said("ff02::1%lo") == "ff02::1%lo port 9");
    CHECK(said("fe80::1%77777") == "fe80::1%77777 port 9");
    CHECK(said("2001:DB8::0:1%7") == "2001:db8::1%7 port 9");
    CHECK(said("fe80::1%0") == "fe80::1 port 9");
    for (const char* text : {"fe80::1%", "fe80::1%nosuch", "fe80::1%1x", "fe80::1%-1", "::1%lo",
                             "fe80::1%4294967296", "fe80::1%1%1", "%lo"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(said(text), Failure);
    }
    CHECK_THROWS_WITH(said("fe80::1%nosuch"), "request: fe80::1%nosuch is no numeric IPv6 address");
    CHECK_THROWS_WITH(SocketAddress(Family::ipv4, "10.0.0", 1),
                      "request: 10.0.0 is no numeric IPv4 address");
    CHECK_THROWS_AS(SocketAddress(Family::ipv4, std::string("10.0.0.1\0x", 10), 1), Failure);
}

TEST_CASE("an address that is none is called unknown") {
    CHECK(SocketAddress().address() == "unknown");
}

TEST_CASE("the way to this host is the loopback device") {
    const SocketAddress here(Family::ipv4, "127.0.0.1", 0);
    CHECK(interface_towards(here, here) == "lo");
}

TEST_CASE("a socket sends from the address and by the interface that it was asked to") {
    const Descriptor listening = make_socket(AF_INET, SOCK_DGRAM, "a test");
    const SocketAddress here(Family::ipv4, "127.0.0.1", 0);
    REQUIRE(::bind(listening.get(), here.get(), here.size()) == 0);
    const SocketAddress there = SocketAddress::local_of(listening.get());
    const Descriptor fd = make_socket(AF_INET, SOCK_DGRAM, "a test");
    choose_source(fd.get(), read({{"source_address", "127.0.0.9"}, {"interface", "lo"}}, false),
                  there);
    REQUIRE(::connect(fd.get(), there.get(), there.size()) == 0);
    CHECK(SocketAddress::local_of(fd.get()).address() == "127.0.0.9");
    CHECK(interface_of(fd.get(), there) == "lo");
    const Descriptor none = make_socket(AF_INET, SOCK_STREAM, "a test");
    CHECK_THROWS_WITH_AS(
        choose_source(none.get(), read({{"source_address", "203.0.113.9"}}), there),
        doctest::Contains("send from address 203.0.113.9"), Failure);
    CHECK_THROWS_WITH_AS(choose_source(none.get(), read({{"interface", "none9"}}), there),
                         doctest::Contains("send by interface none9"), Failure);
    CHECK_THROWS_AS(choose_source(none.get(), read({{"source_address", "::1"}}), there), Failure);
    const SocketAddress elsewhere(Family::ipv4, "203.0.113.9", 9);
    CHECK_THROWS_WITH_AS(choose_source(none.get(), read({{"interface", "lo"}}), elsewhere),
                         "interface lo leads to this host alone, and 203.0.113.9 is another one",
                         Failure);
}

TEST_CASE("options are checked") {
    const SocketOptions options = read({{"send_buffer_bytes", 4096},
                                        {"wait", "spin"},
                                        {"cpu", 1},
                                        {"no_delay", true},
                                        {"congestion_control", "cubic"}});
    CHECK(options.send_buffer_bytes == 4096);
    CHECK(options.wait == Waiting::spin);
    CHECK(options.cpu == 1);
    CHECK(options.congestion_control == "cubic");
    CHECK_THROWS_AS((void)read({{"wait", "sleep"}}), Failure);
    CHECK_THROWS_AS((void)read({{"surprise", 1}}), Failure);
    CHECK_THROWS_AS((void)read({{"congestion_control", "Cubic!"}}), Failure);
    CHECK_THROWS_AS((void)read({{"max_segment_bytes", 87}}), Failure);
    CHECK_THROWS_AS((void)read({{"no_delay", true}}, false), Failure);
    CHECK_THROWS_AS((void)read({{"cork", true}}, false), Failure);
    CHECK_THROWS_AS((void)read({{"multipath", true}}, false), Failure);
    CHECK_THROWS_AS((void)read({{"traffic_class", 256}}), Failure);
    CHECK_THROWS_WITH_AS((void)read({{"file", "/etc/hostname"}}),
                         doctest::Contains("goes with sending sendfile"), Failure);
}

TEST_CASE("applied options are obtained, as the kernel counts them") {
    const Descriptor fd = make_socket(AF_INET, SOCK_STREAM, "a test");
    apply_socket_options(
        fd.get(),
        read({{"send_buffer_bytes", 32768}, {"no_delay", true}, {"congestion_control", "reno"}}),
        true);
    const json obtained = obtained_options(fd.get(), true);
    CHECK(obtained["send_buffer_bytes"] == 65536);
    CHECK(obtained["no_delay"] == true);
    CHECK(obtained["congestion_control"] == "reno");
    CHECK_THROWS_WITH_AS(
        apply_socket_options(fd.get(), read({{"congestion_control", "no_such"}}), true),
        doctest::Contains("there are:"), Failure);
}

TEST_CASE("the traffic class is obtained for either family") {
    for (const int domain : {AF_INET, AF_INET6}) {
        for (const bool tcp : {true, false}) {
            const Descriptor fd = make_socket(domain, tcp ? SOCK_STREAM : SOCK_DGRAM, "a test");
            CHECK(obtained_options(fd.get(), tcp)["traffic_class"] == 0);
            apply_socket_options(fd.get(), read({{"traffic_class", 0x88}}, tcp), tcp);
            CHECK(obtained_options(fd.get(), tcp)["traffic_class"] == 0x88);
        }
    }
}

TEST_CASE("what gathers or limits a stream is obtained") {
    const Descriptor fd = make_socket(AF_INET, SOCK_STREAM, "a test");
    CHECK(obtained_options(fd.get(), true)["cork"] == false);
    CHECK(obtained_options(fd.get(), true)["multipath"] == false);
    apply_socket_options(fd.get(), read({{"cork", true}, {"not_sent_low_bytes", 16384}}), true);
    CHECK(obtained_options(fd.get(), true)["cork"] == true);
    apply_socket_options(fd.get(), read({{"window_clamp_bytes", 20'000}}), true);
    CHECK(obtained_options(fd.get(), true)["window_clamp_bytes"] == 20'000);
}

TEST_CASE("the end of a corked message is not held back, whatever room there was for it") {
    const SocketPair pair = tcp_pair();
    set_flag(pair.a.get(), IPPROTO_TCP, TCP_CORK, "set TCP_CORK");
    const auto is_held = [&] {
        return obtained_options(pair.a.get(), true).at("cork").get<bool>();
    };
    const std::atomic<bool> interrupted = false;
    for (int batch = 0; batch < 2; ++batch) {
        TcpPath<BlockingWait> path(pair.a.get(), interrupted);
        CHECK(is_held());
        const std::vector<std::byte> message(10'001);
        for (int i = 0; i < 3; ++i) {
            path.send(message, 1'000);
            CHECK(!is_held());
        }
    }
    CHECK(is_held()); // as it was asked for, for the next batch
}

TEST_SUITE_END();
