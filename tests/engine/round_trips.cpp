// latency and pingpong over transports that are not there.
#include <doctest/doctest.h>

#include "play.hpp"

using namespace sonde;
using namespace sonde::fakes;

TEST_SUITE_BEGIN("round_trips");

TEST_CASE("every message of a stream transport is answered and timed") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::latency, 50, 100));
    CHECK(length_of(both.origin, "round_trip_ns") == 50);
    CHECK(both.origin.counters.at("messages_sent") == 50);
    CHECK(both.origin.counters.at("bytes_received") == 5000);
    CHECK(both.target.counters.at("messages_received") == 50);
    CHECK(both.target.counters.at("calls_sent") == 50);
    CHECK(both.origin.counters.at("end_ns") > both.origin.counters.at("start_ns"));
    CHECK(both.origin.counters.at("sync_round_trip_ns") > 0);
    for (const std::int64_t round_trip_ns : series_of(both.origin, "round_trip_ns")->values) {
        CHECK(round_trip_ns > 0);
    }
}

TEST_CASE("round trips add up to the time between start and end") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::latency, 200, 8));
    std::int64_t sum_ns = 0;
    for (const std::int64_t round_trip_ns : series_of(both.origin, "round_trip_ns")->values) {
        sum_ns += round_trip_ns;
    }
    CHECK(sum_ns <= both.origin.counters.at("end_ns") - both.origin.counters.at("start_ns"));
}

TEST_CASE("an origin waits for the instant that it was given, and says so") {
    Pair<Stream> pair;
    RunParameters run = run_of(Test::latency, 5, 8);
    run.start_at_ns = monotonic_ns() + 150'000'000;
    const Both both = play(pair, run);
    CHECK(both.origin.counters.at("start_ns") >= run.start_at_ns);
    CHECK(both.origin.counters.at("start_waited_ns") > 0);
    CHECK(both.origin.counters.at("start_late_ns") ==
          both.origin.counters.at("start_ns") - run.start_at_ns);
    CHECK(!both.target.counters.contains("start_late_ns"));
}

TEST_CASE("an instant that has passed is not waited for") {
    Pair<Stream> pair;
    RunParameters run = run_of(Test::latency, 5, 8);
    run.start_at_ns = monotonic_ns() - 1'000'000'000;
    const Both both = play(pair, run);
    CHECK(both.origin.counters.at("start_late_ns") >= 1'000'000'000);
    CHECK(both.origin.counters.at("start_waited_ns") == 0);
}

TEST_CASE("two ends that read one clock find it between the bounds") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::latency, 5, 8));
    const std::int64_t reading_ns = 1'000; // two timebases of one clock differ by their readings
    CHECK(both.origin.counters.at("peer_clock_low_ns") <= reading_ns);
    CHECK(both.origin.counters.at("peer_clock_high_ns") >= -reading_ns);
}

TEST_CASE("the tightest of all bounds is kept") {
    PeerClock peer;
    peer.note(0, 1'050, 1'060, 200);       // between 860 and 1050
    peer.note(1'000, 2'020, 2'030, 1'100); // between 930 and 1020
    peer.note(2'000, 3'500, 3'510, 2'600); // between 910 and 1500
    CHECK(peer.low_ns == 930);
    CHECK(peer.high_ns == 1'020);
}

TEST_CASE("wrong content is counted where it arrives") {
    Pair<Stream> pair;
    pair.origin.spoil = [](std::uint64_t call) { return call == 3 || call == 4; };
    RunParameters run = run_of(Test::pingpong, 10, 64);
    run.check_data = true;
    const Both both = play(pair, run);
    CHECK(both.target.counters.at("corrupt") == 2);
    CHECK(both.origin.counters.at("corrupt") == 2); // the target sends back what it got
}

TEST_CASE("right content is not counted") {
    Pair<Stream> pair;
    RunParameters run = run_of(Test::latency, 10, 1);
    run.check_data = true;
    const Both both = play(pair, run);
    CHECK(both.target.counters.at("corrupt") == 0);
    CHECK(both.origin.counters.at("corrupt") == 0);
}

namespace {

// One end, whose messages are as large as `peer`'s: what the test does with its memory, and when.
// The clock counts its readings. Content is spoilt at the end of a round trip and right again when
// the next begins; behind an answer it is spoilt as well. So a check that is not timed finds every
// message wrong, and one that is timed finds them right.
template <bool Datagram>
struct Watched {
    static constexpr bool datagrams = Datagram;

    explicit Watched(const RunParameters& run) : run_(run) { current = this; }

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++sent;
        if (answers) {
            spoil({const_cast<std::byte*>(message.data()), message.size()}); // NOLINT
        }
        last_.assign(message.begin(), message.end());
    }
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        in = message;
        unready += Datagram || is_forgotten(message) ? 0 : 1;
        if (answers || last_.empty()) {
            Payload::write(message, run_.seed);
            if (Datagram) {
                SequenceNumber{received, 1, received + 1 == run_.count}.write(message);
            }
        } else {
            std::ranges::copy(last_, message.begin());
        }
        ++received;
        return message.size();
    }
    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        return receive(message, call_bytes);
    }
    void drain() {}
    void check_interrupted() {}
    bool wait_drained() { return true; }
    [[nodiscard]] std::uint64_t calls_sent() const { return sent; }
    [[nodiscard]] std::uint64_t calls_received() const { return received; }

    static bool is_forgotten(std::span<const std::byte> message) {
        return std::ranges::all_of(message, [](std::byte one) { return one == std::byte{0}; });
    }
    static void spoil(std::span<std::byte> message) { message.back() = ~message.back(); }

    // The origin's clock: the second reading of each two ends a round trip.
    struct Clock {
        static std::uint64_t now() {
            Watched& path = *current;
            if (path.answers || path.in.empty()) {
                return ++path.readings;
            }
            const bool ends = path.received == path.ended + 1;
            if (ends) {
                ++path.ended;
                spoil(path.in);
            } else if (!Datagram) {
                path.late_forgets += is_forgotten(path.in) ? 0 : 1;
            } else {
                Payload::write(path.in, path.run_.seed);
            }
            return ++path.readings;
        }
    };

    bool answers = false; // the target's end
    std::uint64_t sent = 0;
    std::uint32_t received = 0;
    std::uint32_t ended = 0;
    std::uint64_t readings = 0;
    std::uint64_t unready = 0;      // messages for which memory was not ready
    std::uint64_t late_forgets = 0; // round trips that began before it was
    std::span<std::byte> in;
    static inline Watched* current = nullptr;

private:
    RunParameters run_;
    Message last_;
};

template <bool Datagram>
void check_untimed() {
    using Path = Watched<Datagram>;
    RunParameters run = run_of(Test::latency, 10, 64);
    run.check_data = true;
    Timebase timebase;
    Start start;
    start.batch = 1;

    Path path(run);
    RoundTripOrigin<Path> origin(run);
    origin.template play<typename Path::Clock>(path, start);
    Result at_origin;
    origin.report(at_origin, timebase);
    CHECK(at_origin.counters.at("corrupt") == 10);
    CHECK(path.unready == 0);
    CHECK(path.late_forgets == 0);
    CHECK(path.readings == 20 + 1); // a begin and an end for each, and the next begin of the last

    Path peer(run);
    peer.answers = true;
    RoundTripTarget<Path> target(run);
    const auto ended = [] { return true; };
    target.template play<typename Path::Clock>(peer, start, ended);
    Result at_target;
    target.report(at_target);
    CHECK(at_target.counters.at("corrupt") == 10);
    CHECK(peer.unready == 0);
}

} // namespace

TEST_CASE("content is filled and checked outside of the time, at both ends") {
    check_untimed<false>();
    check_untimed<true>();
}

TEST_CASE("a run whose content is not checked reads the clock once for each round trip") {
    const RunParameters run = run_of(Test::latency, 10, 64);
    Watched<false> path(run);
    path.answers = true; // memory is left alone
    RoundTripOrigin<Watched<false>> origin(run);
    origin.play<Watched<false>::Clock>(path, Start{});
    CHECK(path.readings == 11);
}

TEST_CASE("ends that were asked for different runs say so") {
    Pair<Stream> pair;
    std::string told;
    auto target = std::async(std::launch::async, [&] {
        Timebase timebase;
        try {
            (void)run_test(pair.target, pair.target_control, 1, 1, run_of(Test::latency, 10, 9),
                           timebase, BatchHooks{[] {}, [] {}});
        } catch (const Failure& failure) {
            told = failure.what();
            pair.control_back.close();
        }
    });
    Timebase timebase;
    CHECK_THROWS_AS((void)run_test(pair.origin, pair.origin_control, 0, 1,
                                   run_of(Test::latency, 10, 8), timebase,
                                   BatchHooks{[] {}, [] {}}),
                    Failure);
    target.get();
    CHECK(told == "the two ends were asked for different runs");
}

TEST_CASE("a lost datagram is unanswered, the next goes on") {
    Pair<Datagrams> pair;
    pair.origin.fate = [](std::uint64_t call) { return Fate{call == 4 ? 0 : 1, 0}; };
    const Both both = play(pair, run_of(Test::latency, 20, 64));
    CHECK(length_of(both.origin, "round_trip_ns") == 19);
    CHECK(series_of(both.origin, "unanswered_index")->values == std::vector<std::int64_t>{4});
    CHECK(both.origin.counters.at("unanswered") == 1);
    CHECK(both.origin.counters.at("messages_sent") == 20);
    CHECK(both.target.counters.at("messages_received") == 19);
}

TEST_CASE("a late answer is told from the one that is waited for") {
    Pair<Datagrams> pair;
    // The answer to message 3 comes only with the answer to message 4.
    pair.target.fate = [](std::uint64_t call) { return Fate{1, call == 3 ? 1 : 0}; };
    const Both both = play(pair, run_of(Test::latency, 20, 64));
    CHECK(series_of(both.origin, "unanswered_index")->values == std::vector<std::int64_t>{3});
    CHECK(both.origin.counters.at("late_answers") == 1);
    CHECK(length_of(both.origin, "round_trip_ns") == 19);
}

TEST_CASE("a repeated answer is neither late nor an answer to another message") {
    Pair<Datagrams> pair;
    pair.target.fate = [](std::uint64_t call) { return Fate{call == 3 ? 3 : 1, 0}; };
    const Both both = play(pair, run_of(Test::latency, 20, 64));
    CHECK(both.origin.counters.at("unanswered") == 0);
    CHECK(both.origin.counters.at("late_answers") == 0);
    CHECK(both.origin.counters.at("duplicates") == 2);
    CHECK(length_of(both.origin, "round_trip_ns") == 20);
}

TEST_CASE("the last message may be lost in either direction") {
    for (const bool answer : {false, true}) {
        Pair<Datagrams> pair;
        (answer ? pair.target : pair.origin).fate = [](std::uint64_t call) {
            return Fate{call == 9 ? 0 : 1, 0};
        };
        const Both both = play(pair, run_of(Test::latency, 10, 64));
        CHECK(both.origin.counters.at("unanswered") == 1);
        CHECK(both.target.counters.at("messages_received") == (answer ? 10 : 9));
    }
}

TEST_CASE("messages without room for a number, down to empty ones, work, too") {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
        Pair<Datagrams> pair;
        pair.origin.fate = [](std::uint64_t call) { return Fate{call == 2 ? 0 : 1, 0}; };
        const Both both = play(pair, run_of(Test::latency, 10, bytes));
        CHECK(both.origin.counters.at("unanswered") == 1);
        CHECK(length_of(both.origin, "round_trip_ns") == 9);
        CHECK(!both.origin.counters.contains("duplicates")); // nobody could tell
    }
}

TEST_CASE("a straggler of an earlier batch is answered to nobody") {
    Pair<Datagrams> pair;
    (void)play(pair, run_of(Test::latency, 5, 64), 1);
    Message straggler(64, std::byte{0});
    SequenceNumber{0, 1, true}.write(straggler);
    pair.origin.fate = [&](std::uint64_t call) {
        if (call == 7) {
            pair.there.put(straggler);
        }
        return Fate{};
    };
    const Both both = play(pair, run_of(Test::latency, 5, 64), 2);
    CHECK(both.target.counters.at("messages_received") == 5);
    CHECK(both.origin.counters.at("unanswered") == 0);
}

TEST_SUITE_END();
