// The emulator without devices or namespaces: lateness, requests, and the loop on socket pairs.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/failure.hpp"
#include "emulator/control.hpp"
#include "emulator/lateness.hpp"
#include "emulator/load.hpp"
#include "emulator/switch_control.hpp"
#include "emulator/switch_loop.hpp"

using namespace sonde;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_SUITE_BEGIN("emulator");

namespace {

constexpr std::int64_t no_limit_ns = INT64_MAX;

std::size_t bucket_of(std::int64_t late_ns) {
    Lateness lateness(no_limit_ns);
    lateness.note(late_ns);
    const auto& counts = lateness.counts();
    return static_cast<std::size_t>(std::find(counts.begin(), counts.end(), 1) - counts.begin());
}

// Waits for what another thread does; false where it does not.
template <class Condition>
bool comes_true(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

void set_patience(int fd) {
    const timeval patience{20, 0}; // a test that would hang fails
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
}

} // namespace

// ---- lateness

TEST_CASE("buckets are in order and no wider than a quarter of what they hold") {
    for (std::size_t bucket = 1; bucket < Lateness::buckets; ++bucket) {
        const std::int64_t lower = Lateness::upper_ns(bucket - 1);
        const std::int64_t upper = Lateness::upper_ns(bucket);
        INFO("bucket ", bucket);
        CHECK(upper > lower);
        CHECK(upper - lower <= std::max<std::int64_t>(lower / 4, 1));
    }
}

TEST_CASE("a value is in the bucket whose ends hold it") {
    for (std::size_t bucket = 0; bucket + 1 < Lateness::buckets; ++bucket) {
        INFO("bucket ", bucket);
        CHECK(bucket_of(Lateness::upper_ns(bucket) - 1) == bucket);
        CHECK(bucket_of(Lateness::upper_ns(bucket)) == bucket + 1);
    }
    CHECK(bucket_of(0) == 0);
    CHECK(bucket_of(-5) == 0);
    CHECK(bucket_of(INT64_MIN) == 0);
    CHECK(bucket_of(INT64_MAX) == Lateness::buckets - 1);
}

TEST_CASE("quantiles are the upper ends of buckets, the limit and the most are exact") {
    Lateness lateness(500);
    CHECK(lateness.quantile_ns(0.5) == 0);
    for (std::int64_t late = 1; late <= 1000; ++late) {
        lateness.note(late);
    }
    CHECK(lateness.frames() == 1000);
    CHECK(lateness.beyond_limit() == 500);
    CHECK(lateness.most_ns() == 1000);
    CHECK(lateness.quantile_ns(0.0) == 2);
    CHECK(lateness.quantile_ns(0.5) >= 501);
    CHECK(lateness.quantile_ns(0.5) <= 501 * 5 / 4);
    CHECK(lateness.quantile_ns(0.999) == 1000);
    CHECK(lateness.quantile_ns(1.0) == 1000);
    for (int percent = 0; percent < 100; ++percent) {
        CHECK(lateness.quantile_ns(percent / 100.0) <= lateness.quantile_ns((percent + 1) / 100.0));
    }
}

TEST_CASE("a frame that was early is not late") {
    Lateness lateness(0);
    lateness.note(-1000);
    lateness.note(0);
    CHECK(lateness.frames() == 2);
    CHECK(lateness.beyond_limit() == 0);
    CHECK(lateness.most_ns() == 0);
    CHECK(lateness.quantile_ns(0.99) == 0);
}

// ---- load

TEST_CASE("a load is read whole, and refused by the name of what is wrong") {
    const json flow{{"from", 12}, {"address", "10.0.0.2"}, {"frames_per_s", 1000}};
    const json good{{"port", 9},
                    {"payload_bytes", 100},
                    {"duration_ns", 1'000'000},
                    {"flows", {flow}},
                    {"sinks", {13, 14}}};
    const LoadPlan plan = read_load(Fields(good));
    REQUIRE(plan.flows.size() == 1);
    CHECK(plan.flows[0].from == 12);
    CHECK(plan.flows[0].port == 9);
    CHECK(plan.flows[0].frames_per_s == 1000);
    CHECK(plan.sinks == std::vector<pid_t>{13, 14});
    const auto refused = [&](const char* path, const json& value, const std::string& words) {
        json bad = good;
        bad[json::json_pointer(path)] = value;
        std::string said = "accepted";
        try {
            (void)read_load(Fields(bad));
        } catch (const Failure& failure) {
            said = failure.what();
        }
        INFO(bad.dump(), ": ", said);
        CHECK(said.find(words) != std::string::npos);
    };
    refused("/port", 0, "port");
    refused("/port", 65'536, "port");
    refused("/payload_bytes", 65'508, "payload_bytes");
    refused("/duration_ns", 0, "duration_ns");
    refused("/duration_ns", nullptr, "duration_ns");
    refused("/flows/0/from", 0, "from");
    refused("/flows/0/frames", -1, "frames");
    refused("/flows/0/frames_per_s", 1e3, "frames_per_s");
    refused("/flows/0/speed", 1, "unknown field speed");
    refused("/flows/1", 5, "flow");
    refused("/flows", 5, "flows must be an array");
    refused("/sinks/0", "h1", "expected process numbers");
    refused("/sinks/0", 0, "expected process numbers");
    refused("/sinks/0", (1LL << 32U) + 5, "expected process numbers");
    refused("/burst", true, "unknown field burst");
}

// ---- control

namespace {

// Asks the control socket of this network namespace.
class Asker {
public:
    Asker() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        constexpr std::string_view name("\0netsonde-switch", 16);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(name.begin(), name.end(), std::begin(address.sun_path));
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        REQUIRE(fd_);
        REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
        set_patience(fd_.get());
    }

    // False where the server has gone away meanwhile.
    [[nodiscard]] bool send(const std::string& text) const {
        return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }
    void send_with(const std::string& text, int passed) const {
        std::string copy = text;
        iovec part{copy.data(), copy.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> extra{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
        REQUIRE(::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }
    // The next answer; nothing where the connection is over.
    std::optional<json> answer() {
        while (heard_.find('\n') == std::string::npos) {
            std::array<char, 4096> piece{};
            const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
            if (got <= 0) {
                REQUIRE((got == 0 || errno == ECONNRESET));
                return std::nullopt;
            }
            heard_.append(piece.data(), static_cast<std::size_t>(got));
        }
        const std::size_t end = heard_.find('\n');
        const json parsed = json::parse(heard_.substr(0, end));
        heard_.erase(0, end + 1);
        return parsed;
    }
    json ask(const std::string& line) {
        REQUIRE(send(line + "\n"));
        const auto said = answer();
        REQUIRE(said);
        return *said;
    }

private:
    Descriptor fd_;
    std::string heard_;
};

// Nothing where the name is taken: a switch runs in this network namespace.
std::unique_ptr<ControlServer> make_server(std::map<std::string, ControlHandler> handlers) {
    try {
        return std::make_unique<ControlServer>(std::move(handlers));
    } catch (const Failure& failure) {
        MESSAGE("left out: ", std::string(failure.what()));
        return nullptr;
    }
}

ControlHandler echo() {
    return [](Request& request, ControlClient& /*client*/) {
        const auto word = request.fields.optional_text("word");
        request.fields.finish();
        return json{{"word", word.value_or("none")}};
    };
}

} // namespace

TEST_CASE("requests are answered in order, however they come in pieces") {
    const auto server = make_server({{"echo", echo()}});
    if (!server) {
        return;
    }
    Asker asker;
    CHECK(asker.ask(R"({"request":1,"verb":"echo","word":"a"})") ==
          json{{"request", 1}, {"done", {{"word", "a"}}}});
    REQUIRE(asker.send("{\"request\":2,\"verb\":\"echo\"}\n{\"request\":3,\"ve"));
    CHECK(asker.answer().value_or(json())["request"] == 2);
    REQUIRE(asker.send("rb\":\"echo\"}\n"));
    CHECK(asker.answer().value_or(json())["request"] == 3);
    Asker other;
    CHECK(other.ask(R"({"request":1,"verb":"echo"})")["done"]["word"] == "none");
}

TEST_CASE("what is no request is answered with the reason, and the connection goes on") {
    const auto server = make_server(
        {{"echo", echo()},
         {"fail", [](Request&, ControlClient&) -> json { throw Failure("system", "no"); }},
         {"break", [](Request&, ControlClient&) -> json { throw std::out_of_range("oh"); }}});
    if (!server) {
        return;
    }
    Asker asker;
    for (const std::string line : {"", "x", "[]", "{", R"({"verb":"echo"})", "\xff\xfe\x80"}) {
        const json said = asker.ask(line);
        CHECK(said["request"] == 0);
        CHECK(said["code"] == "bad_request");
    }
    const json unknown = asker.ask(R"({"request":4,"verb":"dance"})");
    CHECK(unknown["request"] == 4);
    CHECK(unknown["error"] == "the switch does not know the verb dance");
    CHECK(asker.ask(R"({"request":5,"verb":"echo","words":1})")["code"] == "bad_request");
    CHECK(asker.ask(R"({"request":6,"verb":"fail"})")["code"] == "system");
    CHECK(asker.ask(R"({"request":7,"verb":"break"})")["code"] == "internal");
    CHECK(asker.ask(R"({"request":8,"verb":"echo"})")["done"]["word"] == "none");
}

TEST_CASE("a line without an end costs its connection, no other") {
    const auto server = make_server({{"echo", echo()}});
    if (!server) {
        return;
    }
    Asker asker;
    Asker endless;
    const std::string piece(10'000, 'a');
    for (int k = 0; k < 100 && endless.send(piece); ++k) {
    }
    const auto said = endless.answer();
    REQUIRE(said);
    CHECK((*said)["error"] == "a request is longer than 65536 bytes");
    CHECK(!endless.answer());
    CHECK(asker.ask(R"({"request":1,"verb":"echo"})")["request"] == 1);
}

TEST_CASE("a descriptor comes along, and what is tied to a connection ends with it") {
    std::atomic<bool> ended = false;
    const auto server = make_server({{"take", [&](Request&, ControlClient& client) {
                                          const bool came = static_cast<bool>(client.passed);
                                          client.passed.reset();
                                          client.tied = std::shared_ptr<void>(
                                              nullptr, [&](void* /*none*/) { ended = true; });
                                          return json{{"came", came}};
                                      }}});
    if (!server) {
        return;
    }
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    {
        Asker asker;
        asker.send_with("{\"request\":1,\"verb\":\"take\"}\n", writer.get());
        CHECK(asker.answer().value_or(json())["done"]["came"] == true);
        CHECK(asker.ask(R"({"request":2,"verb":"take"})")["done"]["came"] == false);
        ended = false; // the second took the place of the first
        writer.reset();
        char byte = 0;
        CHECK(::read(reader.get(), &byte, 1) == 0); // the server has closed its own
    }
    CHECK(comes_true([&] { return ended.load(); }));
}

TEST_CASE("more connections than there is room for are turned away, until one ends") {
    const auto server = make_server({{"echo", echo()}});
    if (!server) {
        return;
    }
    const std::string line = R"({"request":1,"verb":"echo"})";
    std::vector<std::unique_ptr<Asker>> askers;
    for (int k = 0; k < 16; ++k) {
        askers.push_back(std::make_unique<Asker>());
        CHECK(askers.back()->ask(line)["request"] == 1);
    }
    CHECK(!Asker().answer());
    askers.pop_back();
    CHECK(comes_true([&] {
        Asker late;
        return late.send(line + "\n") && late.answer();
    }));
}

// ---- the loop, with socket pairs in place of TAP devices

namespace {

constexpr std::size_t hosts = 3;

Topology small_star() {
    Topology topology;
    SwitchPlan plan;
    plan.name = "hub";
    topology.switches.push_back(plan);
    for (std::size_t host = 0; host < hosts; ++host) {
        LinkPlan link;
        link.name = link.lower = std::string("h").append(std::to_string(host));
        link.upper = plan.name;
        link.from_host = true;
        topology.hosts.push_back(link.name);
        topology.links.push_back(link);
    }
    return topology;
}

class PlayedSwitch {
    std::array<Descriptor, hosts> ends_; // first, because the loop's construction fills it

public:
    explicit PlayedSwitch(const LoopSettings& settings = {})
        : loop(small_star(), make_taps(), settings), verbs_(switch_verbs(loop, {})),
          player_(std::async(std::launch::async, [this] { loop.run(); })) {}
    ~PlayedSwitch() { loop.stop(); }
    PlayedSwitch(const PlayedSwitch&) = delete;
    PlayedSwitch& operator=(const PlayedSwitch&) = delete;

    // To a host, or with 255 to one that there is not.
    void send(std::size_t from, std::size_t to, std::size_t length) {
        std::vector<std::byte> frame(length);
        frame.at(0) = frame.at(6) = std::byte{2};
        frame.at(5) = static_cast<std::byte>(to);
        frame.at(11) = static_cast<std::byte>(from);
        CHECK(::send(ends_.at(from).get(), frame.data(), length, 0) ==
              static_cast<ssize_t>(length));
    }
    void send_junk(std::size_t from, std::size_t length, std::mt19937_64& draw) {
        std::vector<unsigned char> bytes(length);
        std::generate(bytes.begin(), bytes.end(),
                      [&] { return static_cast<unsigned char>(draw()); });
        CHECK(::send(ends_.at(from).get(), bytes.data(), length, 0) ==
              static_cast<ssize_t>(length));
    }
    // Takes what has come to the hosts, whatever it is.
    void drain() {
        std::array<std::byte, 2048> room{};
        for (const Descriptor& end : ends_) {
            while (::recv(end.get(), room.data(), room.size(), MSG_DONTWAIT) >= 0) {
            }
        }
    }
    // The length of the next frame that a host gets.
    std::size_t receive(std::size_t host) {
        std::array<std::byte, 2048> room{};
        const ssize_t got = ::recv(ends_.at(host).get(), room.data(), room.size(), 0);
        REQUIRE(got >= 0);
        return static_cast<std::size_t>(got);
    }
    json ask(const json& request) {
        std::int64_t id = 0;
        Request parsed = parse_request(request.dump(), id);
        return verbs_.at(parsed.verb)(parsed, client);
    }
    json stats() { return ask({{"request", 1}, {"verb", "stats"}}); }
    void end() {
        loop.stop();
        player_.get();
    }

    SwitchLoop loop;
    ControlClient client;

private:
    std::vector<Descriptor> make_taps() {
        std::vector<Descriptor> taps;
        for (Descriptor& end : ends_) {
            std::array<int, 2> pair{};
            REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
            taps.emplace_back(pair[0]);
            end = Descriptor(pair[1]);
            REQUIRE(::fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
            set_patience(pair[1]);
        }
        return taps;
    }

    std::map<std::string, ControlHandler> verbs_;
    std::future<void> player_;
};

void check_refused(PlayedSwitch& played, json request, const std::string& words) {
    request["request"] = 1;
    std::string said = "accepted";
    try {
        (void)played.ask(request);
    } catch (const Failure& failure) {
        said = failure.what();
    }
    INFO(request.dump(), ": ", said);
    CHECK(said.find(words) != std::string::npos);
}

} // namespace

TEST_CASE("frames go where their station is, whole, whichever way the loop waits") {
    LoopSettings many; // as if always many frames came
    many.many_frames_per_s = -1.0;
    LoopSettings busy;
    busy.busy = true;
    for (const LoopSettings& settings : {LoopSettings{}, many, busy}) {
        PlayedSwitch played(settings);
        played.send(0, 255, 60);
        CHECK(played.receive(1) == 60);
        CHECK(played.receive(2) == 60);
        for (const std::size_t length : {14U, 60U, 1000U, 1514U, 1518U}) {
            played.send(1, 0, length);
            CHECK(played.receive(0) == length);
        }
        const json stats = played.stats();
        CHECK(stats["loop"]["read_frames"] == 6);
        CHECK(stats["loop"]["written_frames"] == 7);
        CHECK(stats["loop"]["frames_inside"] == 0);
        CHECK(stats["lateness"]["frames"] == 7);
        CHECK(stats["links"][0]["up"]["frames"] == 1);
        CHECK(stats["links"][0]["down"]["arrived"] == 5);
        CHECK(stats["links"][2]["upper_port"]["received"] == 0);
        CHECK_NOTHROW(played.end());
    }
}

TEST_CASE("whatever a host sends, the loop goes on and accounts for it") {
    PlayedSwitch played;
    std::mt19937_64 draw(11);
    std::uint64_t sent = 0;
    for (int round = 0; round < 200; ++round) {
        for (std::size_t host = 0; host < 3; ++host) {
            for (int frame = 0; frame < 3; ++frame) { // fewer than a socket's queue holds
                played.send_junk(host, draw() % (round % 10 == 0 ? 65'000 : 1600), draw);
                ++sent;
            }
        }
        played.drain();
    }
    CHECK(comes_true([&] {
        played.drain();
        const json stats = played.stats();
        return stats["loop"]["read_frames"] == sent && stats["loop"]["frames_inside"] == 0;
    }));
    played.drain();
    played.send(0, 255, 60);
    CHECK(played.receive(1) == 60);
    CHECK_NOTHROW(played.end());
}

TEST_CASE("while the gate is closed nothing moves") {
    PlayedSwitch played;
    const json closed = played.ask({{"request", 1}, {"verb", "gate"}, {"open", false}});
    CHECK(closed["gate"] == "closed");
    played.send(0, 255, 60);
    CHECK(comes_true([&] { return played.stats()["loop"]["read_frames"] == 1; }));
    CHECK(played.stats()["gate_open"] == false);
    CHECK(played.stats()["links"][0]["up"]["frames"] == 0);
    played.ask({{"request", 2}, {"verb", "gate"}});
    CHECK(played.receive(1) == 60);
    CHECK(played.stats()["changes"].size() == 2);
}

TEST_CASE("a line is changed as asked, or not at all") {
    PlayedSwitch played;
    const json change = played.ask({{"request", 1},
                                    {"verb", "set"},
                                    {"link", "h1"},
                                    {"direction", "down"},
                                    {"line", {{"loss_ratio", 1.0}, {"mtu_bytes", 1000}}}});
    CHECK(change["line"]["loss_ratio"] == 1.0);
    played.send(0, 255, 60);
    CHECK(played.receive(2) == 60);
    played.send(0, 255, 1514);
    CHECK(played.receive(2) == 1514);
    const json down = played.stats()["links"][1]["down"];
    CHECK(down["lost_random"] == 1);
    CHECK(down["oversize"] == 1);
    const json line{{"delay_ns", 5}};
    check_refused(played, {{"verb", "set"}, {"link", "h9"}, {"line", line}}, "no link is called");
    check_refused(played, {{"verb", "set"}, {"line", line}}, "link is missing");
    check_refused(played, {{"verb", "set"}, {"link", "h1"}, {"direction", "left"}, {"line", line}},
                  "up, down, both");
    check_refused(played, {{"verb", "set"}, {"link", "h1"}, {"line", {{"mtu_bytes", 1501}}}},
                  "not raised beyond");
    check_refused(played, {{"verb", "set"}, {"link", "h1"}, {"line", {{"colour", 1}}}}, "colour");
    check_refused(played, {{"verb", "carrier"}, {"host", "h9"}}, "no host is called h9");
    check_refused(played, {{"verb", "carrier"}, {"host", "h1"}}, "cable"); // it is no TAP device
    CHECK(played.stats()["changes"].size() == 1);
}

TEST_CASE("a capture over the control socket has what passed the host while it lasted") {
    PlayedSwitch played;
    const json request{
        {"request", 1}, {"verb", "capture"}, {"host", "h1"}, {"most_bytes", 1'000'000}};
    check_refused(played, request, "no file came");
    const Descriptor file(::memfd_create("capture", MFD_CLOEXEC));
    played.client.passed = Descriptor(::dup(file.get()));
    CHECK(played.ask(request)["host"] == "h1");
    played.send(0, 1, 1000);
    CHECK(played.receive(1) == 1000);
    played.send(1, 0, 500);
    CHECK(played.receive(0) == 500);
    played.client.tied.reset();
    const auto size = ::lseek(file.get(), 0, SEEK_END);
    CHECK(size > 1500);
    CHECK(size < 2000);
    played.send(0, 1, 1000);
    CHECK(played.receive(1) == 1000);
    CHECK(::lseek(file.get(), 0, SEEK_END) == size);
}

TEST_CASE("a second capture of a host takes the place of the first, not the other way round") {
    PlayedSwitch played;
    const json request{
        {"request", 1}, {"verb", "capture"}, {"host", "h1"}, {"most_bytes", 1'000'000}};
    const Descriptor first(::memfd_create("first", MFD_CLOEXEC));
    const Descriptor second(::memfd_create("second", MFD_CLOEXEC));
    for (const Descriptor* file : {&first, &second}) {
        played.client.passed = Descriptor(::dup(file->get()));
        played.ask(request);
    }
    played.send(0, 1, 1000);
    CHECK(played.receive(1) == 1000);
    played.client.tied.reset();
    CHECK(::lseek(first.get(), 0, SEEK_END) < 1000);
    CHECK(::lseek(second.get(), 0, SEEK_END) > 1000);
}

TEST_CASE("a capture whose reader stalls holds up no frame, and ends") {
    PlayedSwitch played;
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const Descriptor reader(ends[0]);
    played.client.passed = Descriptor(ends[1]);
    played.ask({{"request", 1}, {"verb", "capture"}, {"host", "h1"}, {"most_bytes", 1'000'000}});
    for (int k = 0; k < 200; ++k) { // more than a pipe holds
        played.send(0, 1, 1000);
        CHECK(played.receive(1) == 1000);
    }
    auto ended = std::async(std::launch::async, [&] { played.client.tied.reset(); });
    const auto start = std::chrono::steady_clock::now();
    played.send(0, 1, 1000);
    CHECK(played.receive(1) == 1000);
    CHECK(std::chrono::steady_clock::now() - start < 100ms);
    ended.get();
}

TEST_CASE("work on the loop's thread passes on what it throws, and none is done after the end") {
    PlayedSwitch played;
    CHECK_THROWS_WITH_AS(played.loop.call([] { throw Failure("system", "no"); }), "no", Failure);
    int done = 0;
    played.loop.call([&] { done = 1; });
    CHECK(done == 1);
    played.end();
    CHECK_THROWS_WITH_AS(played.loop.call([&] { done = 2; }), "the switch has ended", Failure);
    CHECK(done == 1);
}

TEST_CASE("a frame that its host does not take is counted, and holds up no other") {
    PlayedSwitch played;
    played.send(1, 255, 60);
    CHECK(played.receive(0) == 60);
    CHECK(played.receive(2) == 60);
    constexpr std::size_t frames = 600; // a socket's queue holds fewer
    for (std::size_t k = 0; k < frames; ++k) {
        played.send(0, 1, 60);
    }
    CHECK(comes_true([&] { return played.stats()["loop"]["read_frames"] == frames + 1; }));
    played.send(0, 2, 60);
    CHECK(played.receive(2) == 60);
    const json stats = played.stats();
    CHECK(stats["loop"]["refused_frames"] > 0);
    CHECK(stats["loop"]["written_frames"].get<int>() + stats["loop"]["refused_frames"].get<int>() ==
          static_cast<int>(frames) + 4);
}

TEST_SUITE_END();
