// Messages on the link, over a wire of memory that loses frames as it is told: what comes whole,
// what is thrown away, and that Go-Back-N delivers all of it once and in order.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "schedule/execution.hpp"
#include "schedule/plan.hpp"
#include "schedule/schedule.hpp"
#include "transport/link/carrier.hpp"
#include "transport/link/channel.hpp"
#include "transport/link/messages.hpp"
#include "transport/link/options.hpp"
#include "transport/link/raw_path.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("link");

namespace {

constexpr std::uint32_t wire_slots = 512;
constexpr std::uint32_t slot_bytes = 2048;
constexpr MacAddress here{std::byte{2}, {}, {}, {}, {}, std::byte{1}};
constexpr MacAddress there{std::byte{2}, {}, {}, {}, {}, std::byte{2}};
constexpr MacAddress elsewhere{std::byte{2}, {}, {}, {}, {}, std::byte{9}};

// The way to one end: frames that have not been taken yet, in slots.
struct Wire {
    std::vector<std::byte> memory = std::vector<std::byte>(wire_slots * slot_bytes);
    std::vector<std::uint32_t> free;
    std::deque<std::pair<std::uint32_t, std::size_t>> lying; // slot and bytes
    std::function<bool(const Wire&)> loses = [](const Wire&) { return false; };
    std::uint64_t lost = 0;
    std::size_t room = wire_slots; // of the host that sends: what is beyond is refused
    std::uint64_t refused = 0;

    Wire() {
        for (std::uint32_t slot = 0; slot < wire_slots; ++slot) {
            free.push_back(slot);
        }
    }
    void put(std::span<const std::byte> headers, std::span<const std::byte> content) {
        if (free.empty() || loses(*this)) {
            ++lost;
            return;
        }
        const std::uint32_t slot = free.back();
        free.pop_back();
        std::byte* const to = memory.data() + slot * slot_bytes;
        std::memcpy(to, headers.data(), headers.size());
        if (!content.empty()) {
            std::memcpy(to + headers.size(), content.data(), content.size());
        }
        lying.emplace_back(slot, headers.size() + content.size());
    }
};

class WireDriver : public LinkDriver {
public:
    WireDriver(Wire& in, Wire& out) : in_(in), out_(out) {}
    int admitted = 0;
    bool receive(LinkArrival& arrival) override {
        if (in_.lying.empty()) {
            return false;
        }
        const auto [slot, bytes] = in_.lying.front();
        in_.lying.pop_front();
        arrival = {{in_.memory.data() + slot * slot_bytes, bytes}, slot};
        return true;
    }
    void release(std::uint32_t slot) noexcept override { in_.free.push_back(slot); }
    bool send(std::span<const std::byte> headers, std::span<const std::byte> content) override {
        if (out_.lying.size() >= out_.room) {
            ++out_.refused;
            return false;
        }
        out_.put(headers, content);
        return true;
    }
    [[nodiscard]] bool has_room() const override { return 2 * out_.lying.size() < out_.room; }
    void admit_only(EndpointNumbers /*numbers*/) override { ++admitted; }
    bool is_drained() override { return true; }
    std::uint64_t overflowed() override { return 0; }
    [[nodiscard]] int fd() const noexcept override { return -1; }
    [[nodiscard]] std::uint32_t slots() const noexcept override { return wire_slots; }
    [[nodiscard]] std::string_view mode() const noexcept override { return "memory"; }

private:
    Wire& in_;
    Wire& out_;
};

LinkDevice device_of(const MacAddress& address) { return {"made", 1, address, 1500}; }

// Two ends, each of one endpoint whose partner is the other.
struct Pair {
    Wire to_a;
    Wire to_b;
    LinkPort a{std::make_unique<WireDriver>(to_a, to_b), device_of(here), {100, 1}};
    LinkPort b{std::make_unique<WireDriver>(to_b, to_a), device_of(there), {200, 1}};

    Pair() {
        a.point(0, {there, 200});
        b.point(0, {here, 100});
    }
};

// Which message it is, all over it, so that one in another's place is seen.
void write_number(std::span<std::byte> message, std::uint64_t number) {
    for (std::size_t at = 0; at < message.size(); at += sizeof number) {
        std::memcpy(message.data() + at, &number, std::min(sizeof number, message.size() - at));
    }
}

ChannelRules rules_of(protocol::Acknowledge way, bool nacks = true, std::uint32_t window = 16) {
    constexpr protocol::Ticks timeout_ns = 30'000;
    return {{window, timeout_ns, nacks}, {way, 2, timeout_ns / 4, nacks}};
}

// Packets of each message size, some of several fragments. Returns what was sent again.
// slow: how many turns of the origin's the target has one for.
std::uint64_t play(Pair& pair, const ChannelRules& rules, std::uint64_t packets,
                   std::uint64_t slow = 1) {
    constexpr std::size_t fragment = 64;
    LinkChannel origin(pair.a, 0, rules, fragment);
    LinkChannel target(pair.b, 0, rules, fragment);
    std::array<std::byte, 3 * fragment> out{};
    std::array<std::byte, 3 * fragment> in{};
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    const auto bytes_of = [](std::uint64_t number) { return 8 + 37 * (number % 5); };
    write_number(out, 0);
    std::uint64_t turns = 0;
    while (origin.counts().sent < packets || received < sent || !origin.is_settled()) {
        if (origin.counts().sent < packets &&
            origin.try_send(std::span(out).first(bytes_of(sent)))) {
            write_number(out, ++sent);
        }
        origin.work();
        if (++turns % slow == 0) {
            target.work();
        }
        while (const auto bytes = target.try_receive(in)) {
            std::array<std::byte, 3 * fragment> expected{};
            write_number(expected, received);
            REQUIRE(*bytes == bytes_of(received));
            REQUIRE(std::memcmp(in.data(), expected.data(), *bytes) == 0);
            ++received;
        }
        REQUIRE(received <= sent);
    }
    CHECK(received == sent);
    return origin.counts().resent;
}

// Any frame, with the same chance.
std::function<bool(const Wire&)> at_random(double chance, unsigned seed) {
    return [draw = std::mt19937(seed), chance](const Wire&) mutable {
        return std::generate_canonical<double, 32>(draw) < chance;
    };
}

// In bursts: Gilbert and Elliott's two states, of which one loses most.
std::function<bool(const Wire&)> in_bursts(unsigned seed) {
    return [draw = std::mt19937(seed), bad = false](const Wire&) mutable {
        const double moved = std::generate_canonical<double, 32>(draw);
        bad = bad ? moved >= 0.2 : moved < 0.005;
        return bad && std::generate_canonical<double, 32>(draw) < 0.8;
    };
}

// What finds no place behind others that wait.
std::function<bool(const Wire&)> at_the_tail(std::size_t room) {
    return [room](const Wire& wire) { return wire.lying.size() >= room; };
}

// More where somebody asks for a long run.
std::uint64_t packets_of_a_run() {
    const char* const asked = std::getenv("NETSONDE_LINK_PACKETS"); // NOLINT: one thread
    return asked == nullptr ? 20'000 : std::strtoull(asked, nullptr, 10);
}

LinkOptions read(const json& options) {
    Fields fields(json{{"options", options}});
    return read_link_options(fields);
}

std::string refusal(const json& options) {
    try {
        (void)read(options);
    } catch (const Failure& failure) {
        return failure.code() + ": " + failure.what();
    }
    return "";
}

} // namespace

TEST_CASE("a frame's word says what was put into it") {
    LinkHeader header;
    header.number = 0xBEEF;
    header.kind = FrameKind::nack;
    header.first = true;
    header.answers = true;
    header.bytes = 8992;
    header.sequence = 0x3FFF;
    header.answer = 0x1234;
    const LinkHeader read = LinkHeader::unpacked(header.packed());
    CHECK(read.number == 0xBEEF);
    CHECK(read.kind == FrameKind::nack);
    CHECK(read.first);
    CHECK(!read.last);
    CHECK(read.answers);
    CHECK(read.bytes == 8992);
    CHECK(read.sequence == 0x3FFF);
    CHECK(read.answer == 0x1234);
}

TEST_CASE("a host that has no room for frames holds them back and loses none") {
    constexpr protocol::Ticks long_ns = 10'000'000'000;
    for (const auto way : {protocol::Acknowledge::immediate, protocol::Acknowledge::delayed}) {
        Pair pair;
        pair.to_b.room = 5;
        pair.to_a.room = 1;
        const ChannelRules rules{{16, long_ns, true}, {way, 2, 10'000, true}};
        CHECK(play(pair, rules, 5'000, 3) == 0);
        CHECK(pair.to_b.refused > 0);
        CHECK(pair.to_b.lost == 0);
    }
}

TEST_CASE("frames of strangers, and what is no frame, are dropped and counted") {
    Pair pair;
    const std::array<std::byte, 4> content{};
    const auto put = [&](const MacAddress& from, LinkHeader header, std::size_t carried) {
        header.bytes = static_cast<std::uint16_t>(carried);
        FrameHeaders headers(there, from);
        pair.to_b.put(headers.with(header), content);
    };
    LinkHeader good;
    good.number = 200;
    good.kind = FrameKind::raw;
    put(here, good, 4);
    put(elsewhere, good, 4); // whoever that is
    put(here, good, 5);      // says that it carries more than it has
    LinkHeader unknown = good;
    unknown.kind = static_cast<FrameKind>(7);
    put(here, unknown, 4);
    LinkHeader other = good;
    other.number = 201; // nobody's
    put(here, other, 4);
    const std::array<std::byte, 20> shorter{};
    pair.to_b.put(shorter, {});
    while (pair.b.deliver()) {
    }
    CHECK(pair.b.frames_received() == 1);
    CHECK(pair.b.dropped().strangers == 1);
    CHECK(pair.b.dropped().malformed == 3);
    CHECK(pair.b.dropped().of_others == 1);
    // The kernel is asked once to keep such away.
    CHECK(dynamic_cast<WireDriver&>(pair.b.driver()).admitted == 1);
    CHECK(pair.to_b.free.size() == wire_slots - 1); // all but the good one's are given back
    // A flood fills what one endpoint may hold, and no more.
    for (std::uint32_t i = 0; i < wire_slots; ++i) {
        put(here, good, 4);
        while (pair.b.deliver()) {
        }
    }
    CHECK(pair.b.dropped().no_room > 0);
    CHECK(!pair.to_b.free.empty());
}

TEST_CASE("an endpoint has one partner at a time and can be pointed elsewhere") {
    Pair pair;
    const std::atomic<bool> interrupted = false;
    LinkRawPath from(pair.a, LinkWait::spin, 100, -1, interrupted);
    LinkRawPath to(pair.b, LinkWait::spin, 100, -1, interrupted);
    std::array<std::byte, 8> out{std::byte{5}};
    std::array<std::byte, 8> in{};
    pair.b.point(0, {elsewhere, 300});
    from.send(out, 0);
    CHECK(to.receive(in, 0) == nothing_received);
    CHECK(to.counted().at("strangers") == 1);
    pair.b.point(0, {here, 100});
    from.send(out, 0);
    CHECK(to.receive(in, 0) == 8);
    CHECK(in == out);
}

TEST_CASE("a raw message is put together from its fragments, and lost with any of them") {
    Pair pair;
    const std::atomic<bool> interrupted = false;
    LinkRawPath from(pair.a, LinkWait::spin, 100, -1, interrupted);
    LinkRawPath to(pair.b, LinkWait::spin, 100, -1, interrupted);
    std::vector<std::byte> out(1001);
    std::vector<std::byte> in(1001);
    for (const std::size_t bytes : {0U, 1U, 99U, 100U, 101U, 1000U, 1001U}) {
        CAPTURE(bytes);
        write_number(out, bytes);
        from.send(std::span(out).first(bytes), 0);
        CHECK(to.receive(in, 0) == bytes);
        CHECK(std::equal(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(bytes), out.begin()));
    }
    for (int missing = 0; missing < 11; ++missing) {
        int count = 0;
        pair.to_b.loses = [&](const Wire&) { return count++ == missing; };
        from.send(out, 0);
        from.send(std::span(out).first(10), 0); // whole, and not made part of the one before
        CHECK(to.receive(in, 0) == 10);
    }
    pair.to_b.loses = [](const Wire&) { return false; };
    from.send(out, 0); // longer than who waits has room for
    CHECK(to.receive(std::span(in).first(150), 0) == 1001);
    CHECK(to.counted().at("incomplete") >= 9);
}

TEST_CASE("all of it comes once and in order, whatever is lost on the way and back") {
    const std::uint64_t packets = packets_of_a_run();
    const std::array<protocol::Acknowledge, 3> ways{protocol::Acknowledge::immediate,
                                                    protocol::Acknowledge::delayed,
                                                    protocol::Acknowledge::piggyback};
    unsigned seed = 0;
    for (const auto way : ways) {
        CAPTURE(static_cast<int>(way));
        Pair random;
        random.to_b.loses = at_random(0.02, ++seed);
        random.to_a.loses = at_random(0.02, ++seed); // Packs and Nacks, too
        CHECK(play(random, rules_of(way), packets / 3) > 0);
        Pair bursts;
        bursts.to_b.loses = in_bursts(++seed);
        bursts.to_a.loses = in_bursts(++seed);
        CHECK(play(bursts, rules_of(way), packets / 3) > 0);
        Pair tail;
        tail.to_b.loses = at_the_tail(10);
        CHECK(play(tail, rules_of(way, true, 64), packets / 3, 32) > 0);
    }
    Pair simple;
    simple.to_b.loses = at_random(0.01, ++seed);
    simple.to_a.loses = at_random(0.01, ++seed);
    CHECK(play(simple, rules_of(protocol::Acknowledge::immediate, false), packets / 10) > 0);
}

TEST_CASE("without losses nothing is sent again") {
    Pair pair;
    // The process may be held up for longer than a short time-out.
    ChannelRules rules = rules_of(protocol::Acknowledge::immediate);
    rules.sends.timeout = 10'000'000'000;
    CHECK(play(pair, rules, 1000) == 0);
}

TEST_CASE("a timer that ran out is counted, and how late that was seen") {
    Pair pair;
    LinkChannel origin(pair.a, 0, rules_of(protocol::Acknowledge::immediate), 64);
    const std::array<std::byte, 8> message{};
    REQUIRE(origin.try_send(message));
    const protocol::Ticks due = origin.next_timer();
    while (monotonic_ns() < due + 2'000'000) {
    }
    while (origin.counts().timers == 0) {
        origin.work();
    }
    CHECK(origin.counts().timers == 1);
    CHECK(origin.counts().timers_late_ns >= 2'000'000);
    CHECK(origin.counts().resent == 1);
}

TEST_CASE("one process speaks with many partners") {
    Wire to_hub;
    Wire to_spokes;
    LinkPort hub(std::make_unique<WireDriver>(to_hub, to_spokes), device_of(here), {10, 3});
    LinkPort spokes(std::make_unique<WireDriver>(to_spokes, to_hub), device_of(there), {20, 3});
    const auto rules = rules_of(protocol::Acknowledge::delayed);
    const std::array<LinkPartner, 3> their{{{there, 20}, {there, 21}, {there, 22}}};
    const std::array<LinkPartner, 3> ours{{{here, 10}, {here, 11}, {here, 12}}};
    LinkCarrier centre(hub, their, rules, 64);
    LinkCarrier others(spokes, ours, rules, 64);
    to_spokes.loses = at_random(0.05, 1);
    std::array<std::byte, 200> out{};
    std::array<std::byte, 200> in{};
    for (std::uint64_t number = 0; number < 300; ++number) {
        const std::size_t partner = number % 3;
        write_number(out, number);
        while (!centre.try_send(partner, out)) {
            centre.work();
            others.work();
        }
        while (!others.try_receive(partner, in)) {
            centre.work();
            others.work();
        }
        REQUIRE(in == out);
    }
    while (!centre.done()) {
        centre.work();
        others.work();
    }
    CHECK(others.done());
}

namespace {

MacAddress address_of(std::size_t rank) {
    return {std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(rank)};
}

// What comes to each rank of one process, put there by all others at the same time.
struct Wires {
    std::mutex mutex;
    std::deque<Wire> to_ranks;
};

class SharedDriver final : public WireDriver {
public:
    SharedDriver(Wires& wires, std::size_t rank)
        : WireDriver(wires.to_ranks[rank], wires.to_ranks[rank]), wires_(wires) {}
    bool receive(LinkArrival& arrival) override {
        const std::lock_guard lock(wires_.mutex);
        return WireDriver::receive(arrival);
    }
    void release(std::uint32_t slot) noexcept override {
        const std::lock_guard lock(wires_.mutex);
        WireDriver::release(slot);
    }
    bool send(std::span<const std::byte> headers, std::span<const std::byte> content) override {
        const std::lock_guard lock(wires_.mutex);
        const auto to = std::to_integer<std::size_t>(headers[5]); // the address's last
        wires_.to_ranks[to].put(headers, content);
        return true;
    }

private:
    Wires& wires_;
};

// The end of one rank, with a partner for each.
struct FramesOfRank {
    LinkPort port;
    LinkCarrier own;

    FramesOfRank(Wires& wires, std::size_t rank, std::span<const LinkPartner> partners)
        : port(std::make_unique<SharedDriver>(wires, rank), device_of(address_of(rank)),
               {static_cast<std::uint16_t>(100 * rank),
                static_cast<std::uint16_t>(partners.size())}),
          own(port, partners, rules_of(protocol::Acknowledge::immediate), 64) {}
    LinkCarrier& carrier() { return own; }
    void step() {
        if (!own.work()) {
            std::this_thread::yield();
        }
    }
};

struct NoJoin {
    void operator()(const std::byte* /*left*/, std::byte* /*into*/, std::size_t /*bytes*/) const {}
};

constexpr std::size_t exchanged_ranks = 4;
constexpr std::size_t exchanged_bytes = 300; // of a block

std::span<std::byte> block_of(std::vector<std::byte>& blocks, std::size_t rank) {
    return std::span(blocks).subspan(rank * exchanged_bytes, exchanged_bytes);
}

// Executes an exchange of each with each, again and again. How many blocks were wrong at a rank.
std::size_t exchange(Wires& wires, schedule::Plan plan, std::size_t rank,
                     std::atomic<std::size_t>& settled) {
    std::vector<LinkPartner> partners;
    for (std::size_t peer = 0; peer < exchanged_ranks; ++peer) {
        partners.push_back({address_of(peer), static_cast<std::uint16_t>(100 * peer + rank)});
    }
    FramesOfRank frames(wires, rank, partners);
    using Messages = LinkMessages<FramesOfRank, NoJoin>;
    const bool awaits_arrival = plan.window != 0;
    schedule::Execution<Messages> execution(std::move(plan),
                                            Messages(frames, exchanged_ranks, awaits_arrival, {}));
    std::vector<std::byte> given(exchanged_ranks * exchanged_bytes);
    std::vector<std::byte> got(given.size());
    std::vector<std::byte> expected(exchanged_bytes);
    std::size_t wrong = 0;
    for (std::size_t time = 0; time < 20; ++time) {
        for (std::size_t peer = 0; peer < exchanged_ranks; ++peer) {
            write_number(block_of(given, peer), 10'000 * time + 100 * rank + peer);
        }
        execution.run(given.data(), got.data());
        for (std::size_t peer = 0; peer < exchanged_ranks; ++peer) {
            write_number(expected, 10'000 * time + 100 * peer + rank);
            wrong += std::ranges::equal(block_of(got, peer), expected) ? 0 : 1;
        }
    }
    while (!frames.own.done()) {
        frames.step();
    }
    for (++settled; settled != exchanged_ranks;) { // others may still wait for answers
        frames.step();
    }
    return wrong;
}

} // namespace

TEST_CASE("exchanges over frames that are lost leave every byte in its place") {
    for (const char* const name : {"alltoall/pairwise", "alltoall/bruck", "alltoall/uncoordinated",
                                   "alltoall/modified-shuffle"}) {
        INFO(name);
        const schedule::Algorithm& algorithm = schedule::find_algorithm(name);
        schedule::Parameters parameters;
        parameters.ranks = exchanged_ranks;
        parameters.block_bytes = exchanged_bytes;
        parameters.window = algorithm.uses.window ? 2 : 0;
        const auto made = algorithm.make(parameters);
        Wires wires;
        for (unsigned rank = 0; rank < exchanged_ranks; ++rank) {
            wires.to_ranks.emplace_back().loses = at_random(0.03, rank);
        }
        std::atomic<std::size_t> settled{0};
        std::array<std::size_t, exchanged_ranks> wrong{};
        std::vector<std::thread> all;
        for (std::size_t rank = 0; rank < exchanged_ranks; ++rank) {
            all.emplace_back([&, rank] {
                auto plan =
                    schedule::plan_of(*made, algorithm.family, static_cast<schedule::Rank>(rank));
                wrong.at(rank) = exchange(wires, std::move(plan), rank, settled);
            });
        }
        for (std::thread& each : all) {
            each.join();
        }
        CHECK(wrong == std::array<std::size_t, exchanged_ranks>{});
        CHECK(wires.to_ranks[0].lost != 0);
    }
}

TEST_CASE("options are read, and what does not go is refused by its name") {
    const LinkOptions usual = read(json::object());
    CHECK(usual.driver == DriverKind::ring);
    CHECK(usual.wait == LinkWait::block);
    CHECK(!usual.reliable);
    const LinkOptions asked = read({{"driver", "xdp"},
                                    {"wait", "hybrid"},
                                    {"reliable", true},
                                    {"window_packets", 12},
                                    {"timeout_ns", 3'000'000},
                                    {"acknowledge", "piggyback"},
                                    {"simple_go_back_n", true}});
    REQUIRE(asked.reliable);
    CHECK(asked.driver == DriverKind::xdp);
    CHECK(asked.wait == LinkWait::hybrid);
    CHECK(asked.reliable->sends.window_packets == 12);
    CHECK(asked.reliable->sends.timeout == 3'000'000);
    CHECK(!asked.reliable->sends.nacks);
    CHECK(asked.reliable->answers.way == protocol::Acknowledge::piggyback);
    CHECK(refusal({{"wait", "ready"}}).find("spin, block, hybrid") != std::string::npos);
    CHECK(refusal({{"driver", "dpdk"}}).find("packet, ring, xdp") != std::string::npos);
    CHECK(refusal({{"window_packets", 4}}).find("window_packets") != std::string::npos);
    CHECK(refusal({{"reliable", true}, {"window_packets", 5000}}).find("window_packets") !=
          std::string::npos);
    CHECK(refusal({{"fragment_bytes", 9000}}).find("fragment_bytes") != std::string::npos);
}

TEST_SUITE_END();
