// Authenticated test traffic: the standards' sums, tags, sealed frames and sealed datagrams.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.hpp"
#include "core/hexadecimal.hpp"
#include "core/sha256.hpp"
#include "socket_pairs.hpp"
#include "test/sequence.hpp"
#include "transport/socket/control.hpp"
#include "transport/socket/greeting.hpp"
#include "transport/socket/seal.hpp"
#include "transport/socket/sealed_path.hpp"
#include "transport/socket/udp_batch_path.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("seals");

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::byte> from_hexadecimal(std::string_view text) {
    std::vector<std::byte> bytes(text.size() / 2);
    REQUIRE(read_hexadecimal(text, bytes));
    return bytes;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte value : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<std::size_t>(value >> 4U)];
        text += digits[std::to_integer<std::size_t>(value & std::byte{0xF})];
    }
    return text;
}

std::string sha256(std::string_view text, bool by_processor, std::size_t piece_bytes = 4096) {
    Sha256 sum(by_processor);
    for (std::size_t at = 0; at < text.size(); at += piece_bytes) {
        sum.add(bytes_of(text.substr(at, piece_bytes)));
    }
    return hexadecimal(sum.digest());
}

constexpr std::array both{false, true};

Admission admission(char first = '0') {
    return {parse_cookie("000102030405060708090a0b0c0d0e0f"),
            parse_seal_key(first + std::string(63, '7'))};
}

struct Ends {
    explicit Ends(const Admission& let_in = admission())
        : origin(*let_in.key, Speaker::origin), target(*let_in.key, Speaker::target) {}
    Seal origin;
    Seal target;
};

} // namespace

// FIPS 180-4's examples (NIST, "SHA256.pdf") and one million letters.
TEST_CASE("SHA-256 is that of FIPS 180-4, by the processor's instructions or without") {
    for (const bool by_processor : both) {
        CAPTURE(by_processor);
        CHECK(sha256("", by_processor) ==
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        CHECK(sha256("abc", by_processor) ==
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", by_processor) ==
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        const std::string million(1'000'000, 'a');
        for (const std::size_t piece_bytes : {std::size_t{1'000'000}, std::size_t{977}}) {
            CHECK(sha256(million, by_processor, piece_bytes) ==
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        }
    }
}

TEST_CASE("SHA-256 is the same in pieces of any size, and both ways, at every length") {
    std::string text;
    for (int i = 0; i < 200; ++i) {
        const std::string whole = sha256(text, false);
        CHECK(sha256(text, false, 7) == whole);
        CHECK(sha256(text, true, 64) == whole);
        text += static_cast<char>('a' + i % 26);
    }
}

// RFC 4231, test cases 1 to 7; of case 5 the first 128 bits, as they are truncated there.
TEST_CASE("HMAC-SHA-256 is that of RFC 4231") {
    const auto hmac = [](const std::vector<std::byte>& key, std::span<const std::byte> message) {
        return hexadecimal(HmacSha256(key).of(message));
    };
    const auto repeated = [](int value, std::size_t times) {
        return std::vector<std::byte>(times, static_cast<std::byte>(value));
    };
    const auto key_of = [](std::string_view text) {
        const auto bytes = bytes_of(text);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    CHECK(hmac(repeated(0x0b, 20), bytes_of("Hi There")) ==
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK(hmac(key_of("Jefe"), bytes_of("what do ya want for nothing?")) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(hmac(repeated(0xaa, 20), repeated(0xdd, 50)) ==
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    CHECK(hmac(from_hexadecimal("0102030405060708090a0b0c0d0e0f10111213141516171819"),
               repeated(0xcd, 50)) ==
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    CHECK(hmac(repeated(0x0c, 20), bytes_of("Test With Truncation")).substr(0, 32) ==
          "a3b6167473100ee06e0c796c2955552b");
    CHECK(hmac(repeated(0xaa, 131),
               bytes_of("Test Using Larger Than Block-Size Key - Hash Key First")) ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    CHECK(hmac(repeated(0xaa, 131),
               bytes_of("This is a test using a larger than block-size key and a larger than "
                        "block-size data. The key needs to be hashed before being used by the "
                        "HMAC algorithm.")) ==
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE("a key is 64 hexadecimal digits, and what is none is not repeated") {
    for (const std::string& text : {std::string(), std::string(63, '0'), std::string(64, 'G')}) {
        try {
            (void)parse_seal_key(text);
            FAIL("taken");
        } catch (const Failure& failure) {
            CHECK(std::string(failure.what()) ==
                  "request: key must be 64 hexadecimal digits, 0-9 and a-f");
        }
    }
}

TEST_CASE("with a key a greeting shows a tag in place of the cookie, another for each purpose") {
    const Admission with = admission();
    const Admission without{with.cookie};
    const Greeting test = make_greeting(Purpose::test, with);
    CHECK(read_greeting(test, with) == Purpose::test);
    CHECK(read_greeting(test, without) == std::nullopt);
    CHECK(read_greeting(test, admission('1')) == std::nullopt);
    CHECK(read_greeting(make_greeting(Purpose::test, without), with) == std::nullopt);
    CHECK(std::search(test.begin(), test.end(), with.cookie.begin(), with.cookie.end()) ==
          test.end());
    Greeting moved = make_greeting(Purpose::control, with); // says that it is for something else
    std::memcpy(moved.data(), test.data(), 16);
    CHECK(read_greeting(moved, with) == std::nullopt);
}

TEST_CASE("a sealed datagram is one of the other end, of its number and its length") {
    const Ends ends;
    std::vector<std::byte> datagram(100, std::byte{0x5A});
    SequenceNumber{3, 7, false}.write(datagram);
    ends.origin.write(datagram);
    const auto taken = [&](std::span<const std::byte> one, const Seal& by, std::size_t bytes) {
        return by.is_peers(one.first<Seal::header_bytes>(), bytes);
    };
    CHECK(taken(datagram, ends.target, 100));
    CHECK(!taken(datagram, ends.target, 101));
    CHECK(!taken(datagram, ends.origin, 100)); // its own, thrown back
    CHECK(!taken(datagram, Ends(admission('1')).target, 100));
    for (std::size_t place = 0; place < Seal::header_bytes; ++place) {
        std::vector<std::byte> changed = datagram;
        changed[place] ^= std::byte{0x10};
        CHECK(!taken(changed, ends.target, 100));
    }
    datagram.back() ^= std::byte{0x10}; // content is what check_data is for
    CHECK(taken(datagram, ends.target, 100));
}

TEST_CASE("control frames that are sealed arrive in their order and as they were sent") {
    const std::atomic<bool> interrupted = false;
    const Frame sent{Frame::Kind::sent, 5, 320, 1, 0};
    const auto refused = [&](SocketControl& by) {
        try {
            (void)by.expect(Frame::Kind::sent);
        } catch (const Failure& failure) {
            return failure.code();
        }
        return std::string("taken");
    };
    // What the origin says, as bytes of the network.
    const auto packets = [&](Seal& seal, std::size_t frames) {
        SocketPair wire = tcp_pair();
        SocketControl origin(std::move(wire.a), interrupted, &seal);
        for (std::size_t i = 0; i < frames; ++i) {
            origin.send(sent);
        }
        std::vector<std::byte> bytes(48 * frames);
        REQUIRE(::recv(wire.b.get(), bytes.data(), bytes.size(), MSG_WAITALL) ==
                static_cast<ssize_t>(bytes.size()));
        return bytes;
    };
    const auto heard = [&](std::span<const std::byte> bytes, std::size_t good) {
        Ends ends;
        SocketPair wire = tcp_pair();
        SocketControl target(std::move(wire.b), interrupted, &ends.target);
        REQUIRE(::send(wire.a.get(), bytes.data(), bytes.size(), 0) ==
                static_cast<ssize_t>(bytes.size()));
        REQUIRE(::shutdown(wire.a.get(), SHUT_WR) == 0);
        for (std::size_t i = 0; i < good; ++i) {
            CHECK(target.arrived());
            CHECK(target.expect(Frame::Kind::sent).second == 320);
        }
        return refused(target);
    };
    Ends ends;
    const std::vector<std::byte> three = packets(ends.origin, 3);
    std::vector<std::byte> altered = three;
    altered[48 + 16] ^= std::byte{1}; // the bytes that the second one tells
    CHECK(heard(altered, 1) == "data_corrupt");
    CHECK(heard(std::span(three).subspan(48), 0) == "data_corrupt"); // the first is left out
    std::vector<std::byte> repeated(three.begin(), three.begin() + 48);
    repeated.insert(repeated.end(), three.begin(), three.begin() + 48);
    CHECK(heard(repeated, 1) == "data_corrupt");
    Ends others(admission('1'));
    CHECK(heard(packets(others.origin, 1), 0) == "data_corrupt");
    CHECK(heard(packets(ends.target, 1), 0) == "data_corrupt"); // its own, thrown back
    CHECK(heard(std::span(three).first(47), 0) == "peer_lost");
}

namespace {

constexpr std::size_t size_bytes = 64;

template <class Path>
void seal_and_send(Path& path, std::uint32_t index) {
    std::vector<std::byte> datagram(size_bytes, std::byte{0x5A});
    SequenceNumber{index, 7, false}.write(datagram);
    seal(path, datagram);
    path.send(datagram, size_bytes);
}

} // namespace

TEST_CASE("a sealed path hands over what the other end sent, and counts what it did not") {
    const Ends ends;
    const Admission let_in = admission();
    const std::atomic<bool> interrupted = false;
    const SocketPair pair = udp_pair();
    SealedPath<UdpPath<BlockingWait>> origin(ends.origin, let_in, pair.a.get(), interrupted);
    SealedPath<UdpPath<BlockingWait>> target(ends.target, let_in, pair.b.get(), interrupted);
    static_assert(SealingTransport<SealedPath<UdpPath<BlockingWait>>>);
    static_assert(!SealingTransport<UdpPath<BlockingWait>>);
    std::vector<std::byte> into(size_bytes);
    const auto throw_in = [&](std::span<const std::byte> bytes) {
        REQUIRE(::send(pair.a.get(), bytes.data(), bytes.size(), 0) ==
                static_cast<ssize_t>(bytes.size()));
    };
    std::vector<std::byte> forged(size_bytes, std::byte{0x5A});
    SequenceNumber{1, 7, false}.write(forged);
    seal_and_send(origin, 0);
    throw_in(forged);                               // a right number, no tag
    throw_in(std::span(forged).first(8));           // too short for one
    throw_in(make_greeting(Purpose::test, let_in)); // a late one is no forgery
    seal_and_send(origin, 1);
    CHECK(target.receive(into, size_bytes) == size_bytes);
    CHECK(SequenceNumber::read(into).index == 0);
    CHECK(target.receive_following(into, size_bytes) == size_bytes);
    CHECK(SequenceNumber::read(into).index == 1);
    CHECK(target.counted().at("unauthentic_messages") == 2);
    CHECK(origin.counted().at("unauthentic_messages") == 0);
}

TEST_CASE("forged datagrams are a silence of the other end") {
    const Ends ends;
    const Admission let_in = admission();
    const std::atomic<bool> interrupted = false;
    const SocketPair pair = udp_pair();
    set_patience(pair.b.get(), 1'000'000);
    SealedPath<UdpPath<BlockingWait>> target(ends.target, let_in, pair.b.get(), interrupted);
    const std::vector<std::byte> forged(size_bytes, std::byte{0x5A});
    REQUIRE(::send(pair.a.get(), forged.data(), forged.size(), 0) == size_bytes);
    std::vector<std::byte> into(size_bytes);
    CHECK(target.receive(into, size_bytes) == nothing_received);
    CHECK(target.counted().at("unauthentic_messages") == 1);
}

TEST_CASE("many sealed datagrams in a call are each looked at") {
    const Ends ends;
    const Admission let_in = admission();
    for (const bool offload : both) {
        CAPTURE(offload);
        const std::atomic<bool> interrupted = false;
        const SocketPair pair = udp_pair();
        using Path = SealedPath<UdpBatchPath<BlockingWait>>;
        Path origin(ends.origin, let_in, pair.a.get(), interrupted, size_bytes, 8U, offload);
        Path target(ends.target, let_in, pair.b.get(), interrupted, size_bytes, 8U, offload);
        const std::vector<std::byte> forged(size_bytes, std::byte{0x5A});
        for (std::uint32_t i = 0; i < 8; ++i) {
            if (i == 3) {
                origin.send(forged, size_bytes);
            } else {
                seal_and_send(origin, i);
            }
        }
        std::vector<std::byte> into(size_bytes);
        for (std::uint32_t i = 0; i < 8; ++i) {
            if (i != 3) {
                REQUIRE(target.receive_following(into, size_bytes) == size_bytes);
                CHECK(SequenceNumber::read(into).index == i);
            }
        }
        CHECK(target.counted().at("unauthentic_messages") == 1);
    }
}
