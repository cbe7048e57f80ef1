// stream and duplex over transports that are not there, with known losses and disorder.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "play.hpp"

using namespace sonde;
using namespace sonde::fakes;

TEST_SUITE_BEGIN("streams");

namespace {

// Takes everything at once.
struct Void {
    static constexpr bool datagrams = false;
    void send(std::span<const std::byte> /*out*/, std::size_t /*call_bytes*/) {}
    static std::size_t receive(std::span<std::byte> in, std::size_t /*call_bytes*/) {
        return in.size();
    }
    [[nodiscard]] static std::uint64_t calls_sent() { return 0; }
    [[nodiscard]] static std::uint64_t calls_received() { return 0; }
};

} // namespace

namespace {

// Bytes of numbered messages, brought in pieces of changing sizes.
class Pieces {
public:
    static constexpr bool datagrams = false;

    Pieces(std::size_t message_bytes, std::size_t messages, std::uint64_t seed) {
        Payload payload(message_bytes, seed);
        for (std::size_t index = 0; index < messages; ++index) {
            if (index + 1 == messages) {
                payload.bytes()[0] = ~payload.bytes()[0];
            }
            bytes_.insert(bytes_.end(), payload.bytes().begin(), payload.bytes().end());
        }
    }
    void send(std::span<const std::byte> /*message*/, std::size_t /*call_bytes*/) {}
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        return receive_some(message);
    }
    std::size_t receive_some(std::span<std::byte> into) {
        if (at_ == bytes_.size()) {
            throw Failure("peer_lost", "asked for more than was sent");
        }
        ++calls_;
        const std::size_t most = std::min(into.size(), bytes_.size() - at_);
        const std::size_t got = 1 + calls_ * 37 % most;
        std::memcpy(into.data(), bytes_.data() + at_, got);
        at_ += got;
        return got;
    }
    [[nodiscard]] std::uint64_t calls_sent() const { return 0; }
    [[nodiscard]] std::uint64_t calls_received() const { return calls_; }
    [[nodiscard]] bool all_taken() const { return at_ == bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
    std::uint64_t calls_ = 0;
};
static_assert(ByteTransport<Pieces>);

} // namespace

TEST_CASE("messages are counted and timed however their bytes come") {
    for (const std::size_t message_bytes : {1U, 7U, 64U, 1000U}) {
        for (const std::size_t call_bytes : {1U, 16U, 100U, 4096U}) {
            RunParameters run = run_of(Test::stream, 50, message_bytes);
            run.call_bytes = call_bytes;
            Pieces path(message_bytes, 33, run.seed); // fewer than the count: the mark decides
            StreamReceiver<Pieces> receiver(run);
            receiver.play<MonotonicClock>(path);
            INFO(message_bytes << " in calls of " << call_bytes);
            CHECK(receiver.received().messages == 33);
            CHECK(path.all_taken());
            Result result;
            receiver.report(result, Start{}, Timebase());
            CHECK(length_of(result, "received_ns") == 33);
        }
    }
}

TEST_CASE("a counted stream arrives whole") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::stream, 100, 500));
    CHECK(length_of(both.origin, "sent_ns") == 100);
    CHECK(length_of(both.target, "received_ns") == 100);
    CHECK(both.origin.counters.at("bytes_sent") == 50'000);
    CHECK(both.target.counters.at("bytes_received") == 50'000);
    CHECK(both.origin.ended_by == EndedBy::count);
    const auto& sent = series_of(both.origin, "sent_ns")->values;
    CHECK(std::ranges::is_sorted(sent));
    CHECK(both.origin.counters.at("last_send_ns") ==
          both.origin.counters.at("start_ns") + sent.back());
}

TEST_CASE("a stream by duration ends at both ends with the same count") {
    Pair<Stream> pair;
    RunParameters run = run_of(Test::stream, 0, 50);
    run.duration_ns = 20'000'000;
    const Both both = play(pair, run);
    CHECK(both.origin.counters.at("messages_sent") == both.target.counters.at("messages_received"));
    CHECK(both.origin.ended_by == EndedBy::duration);
    CHECK(both.target.ended_by == EndedBy::duration);
    CHECK(both.origin.counters.at("last_send_ns") - both.origin.counters.at("start_ns") >=
          20'000'000);
}

TEST_CASE("a message of one byte has room for the mark") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::stream, 30, 1));
    CHECK(both.target.counters.at("messages_received") == 30);
}

TEST_CASE("without recording there are counts but no series") {
    Pair<Stream> pair;
    RunParameters run = run_of(Test::stream, 10, 50);
    run.record_messages = false;
    const Both both = play(pair, run);
    CHECK(both.origin.series.empty());
    CHECK(both.target.series.empty());
    CHECK(both.target.counters.at("messages_received") == 10);
}

TEST_CASE("wrong content in a stream is counted") {
    Pair<Stream> pair;
    pair.origin.spoil = [](std::uint64_t call) { return call % 10 == 5; };
    RunParameters run = run_of(Test::stream, 40, 33);
    run.check_data = true;
    CHECK(play(pair, run).target.counters.at("corrupt") == 4);
}

TEST_CASE("duplex by two threads: each direction is whole") {
    Pair<Stream> pair;
    const Both both = play(pair, run_of(Test::duplex, 60, 70));
    for (const Result* end : {&both.origin, &both.target}) {
        CHECK(end->counters.at("messages_sent") == 60);
        CHECK(end->counters.at("messages_received") == 60);
        CHECK(length_of(*end, "sent_ns") == 60);
        CHECK(length_of(*end, "received_ns") == 60);
        CHECK(end->counters.at("last_arrival_ns") > end->counters.at("start_ns"));
        CHECK(end->counters.at("last_arrival_ns") <= end->counters.at("end_ns"));
    }
}

TEST_CASE("duplex by exchanges: both ends make as many, also by duration") {
    Pair<Exchange> pair;
    CHECK(play(pair, run_of(Test::duplex, 25, 70)).target.counters.at("messages_received") == 25);
    RunParameters run = run_of(Test::duplex, 0, 70);
    run.duration_ns = 10'000'000;
    const Both both = play(pair, run, 2);
    CHECK(both.origin.counters.at("messages_sent") == both.target.counters.at("messages_sent"));
    CHECK(both.target.ended_by == EndedBy::duration);
}

TEST_CASE("a failure in one thread of a duplex test ends the other, and is the one that is told") {
    Pair<Stream> pair;
    pair.origin.spoil = [](std::uint64_t call) -> bool {
        if (call == 2) {
            throw Failure("system", "the cable was cut");
        }
        return false;
    };
    auto target = std::async(std::launch::async, [&] {
        Timebase timebase;
        CHECK_THROWS_AS((void)run_test(pair.target, pair.target_control, 1, 1,
                                       run_of(Test::duplex, 50, 10), timebase,
                                       BatchHooks{[] {}, [] {}}),
                        Failure);
    });
    Timebase timebase;
    CHECK_THROWS_WITH_AS((void)run_test(pair.origin, pair.origin_control, 0, 1,
                                        run_of(Test::duplex, 50, 10), timebase,
                                        BatchHooks{[] {}, [] {}}),
                         "the cable was cut", Failure);
    pair.control_there.close();
    target.get();
}

TEST_CASE("nothing lost: every datagram is counted once and in order") {
    Pair<Datagrams> pair;
    const Both both = play(pair, run_of(Test::stream, 100, 64));
    CHECK(both.target.counters.at("messages_received") == 100);
    CHECK(both.target.counters.at("lost") == 0);
    CHECK(both.target.counters.at("duplicates") == 0);
    CHECK(both.target.counters.at("reordered") == 0);
    const auto& sequence = series_of(both.target, "sequence")->values;
    REQUIRE(sequence.size() == 100);
    CHECK(std::ranges::is_sorted(sequence));
}

TEST_CASE("losses, repetitions and disorder are counted exactly") {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
        Pair<Datagrams> pair;
        std::mt19937 random(seed);
        std::uint64_t lost = 0;
        std::uint64_t repeated = 0;
        pair.origin.fate = [&](std::uint64_t /*call*/) {
            const auto throw_of_dice = random() % 10;
            Fate fate;
            if (throw_of_dice == 0) {
                fate.copies = 0;
                ++lost;
            } else if (throw_of_dice == 1) {
                fate.copies = 3;
                repeated += 2;
            } else if (throw_of_dice == 2) {
                fate.behind = 3;
            }
            return fate;
        };
        const Both both = play(pair, run_of(Test::stream, 500, 64));
        INFO("seed ", seed);
        CHECK(both.target.counters.at("lost") == static_cast<std::int64_t>(lost));
        CHECK(both.target.counters.at("messages_received") ==
              500 - static_cast<std::int64_t>(lost));
        // The truth about order, from the order of arrival as it was recorded.
        const auto& sequence = series_of(both.target, "sequence")->values;
        std::int64_t highest = -1;
        std::int64_t behind = 0;
        for (const std::int64_t index : sequence) {
            behind += index < highest ? 1 : 0;
            highest = std::max(highest, index);
        }
        CHECK(behind > 0);
        CHECK(both.target.counters.at("reordered") == behind);
        CHECK(std::set(sequence.begin(), sequence.end()).size() == sequence.size());
        // Repetitions of the very last arrivals may come after the end.
        CHECK(both.target.counters.at("duplicates") <= static_cast<std::int64_t>(repeated));
        CHECK(both.target.counters.at("duplicates") >= static_cast<std::int64_t>(repeated) - 2);
    }
}

TEST_CASE("a lost last datagram ends the stream by silence") {
    Pair<Datagrams> pair;
    pair.origin.fate = [](std::uint64_t call) { return Fate{call >= 95 ? 0 : 1, 0}; };
    const Both both = play(pair, run_of(Test::stream, 100, 64));
    CHECK(both.target.counters.at("lost") == 5);
}

TEST_CASE("all datagrams lost") {
    Pair<Datagrams> pair;
    pair.origin.fate = [](std::uint64_t /*call*/) { return Fate{0, 0}; };
    const Both both = play(pair, run_of(Test::stream, 20, 64));
    CHECK(both.target.counters.at("lost") == 20);
    CHECK(length_of(both.target, "received_ns") == 0);
}

TEST_CASE("a straggler of an earlier batch does not count") {
    Pair<Datagrams> pair;
    Message straggler(64, std::byte{0});
    SequenceNumber{3, 1, true}.write(straggler); // would end this batch after four datagrams
    pair.origin.fate = [&](std::uint64_t call) {
        if (call == 0) {
            pair.there.put(straggler);
        }
        return Fate{};
    };
    const Both both = play(pair, run_of(Test::stream, 20, 64), 2);
    CHECK(both.target.counters.at("messages_received") == 20);
    CHECK(both.target.counters.at("duplicates") == 0);
}

TEST_CASE("datagrams without numbers are counted as far as that goes") {
    Pair<Datagrams> pair;
    pair.origin.fate = [](std::uint64_t call) { return Fate{call == 5 ? 0 : 1, 0}; };
    const Both both = play(pair, run_of(Test::stream, 20, 3));
    CHECK(both.target.counters.at("messages_received") == 19);
    CHECK(both.target.counters.at("lost") == 1);
    CHECK(!both.target.counters.contains("duplicates"));
    CHECK(series_of(both.target, "sequence") == nullptr);
}

TEST_CASE("a paced stream keeps to its intended times") {
    Pair<Datagrams> pair;
    RunParameters run = run_of(Test::stream, 11, 125);
    run.rate_bit_per_s = 1'000'000; // a datagram each millisecond
    const Both both = play(pair, run);
    const auto& sent = series_of(both.origin, "sent_ns")->values;
    for (std::size_t i = 0; i < sent.size(); ++i) { // never early; how late is the host's affair
        CHECK(sent[i] >= static_cast<std::int64_t>(i) * 1'000'000 - 1'000);
    }
}

TEST_CASE("datagrams both ways at once") {
    Pair<Datagrams> pair;
    pair.origin.fate = [](std::uint64_t call) { return Fate{call == 7 ? 0 : 1, 0}; };
    pair.target.fate = [](std::uint64_t call) { return Fate{call == 8 || call == 9 ? 0 : 1, 0}; };
    const Both both = play(pair, run_of(Test::duplex, 50, 64));
    CHECK(both.target.counters.at("lost") == 1);
    CHECK(both.origin.counters.at("lost") == 2);
    CHECK(both.origin.counters.contains("drained_ns"));
}

TEST_CASE("a run by duration ends when its sample buffer is full") {
    Void path;
    RunParameters run = run_of(Test::stream, 0, 8);
    run.duration_ns = 3'600'000'000'000;
    StreamSender<Void> sender(run);
    const Timebase timebase;
    NoObserver nobody;
    sender.play<MonotonicClock>(path, Start{MonotonicClock::now(), 0, 1, {}}, timebase, nobody);
    CHECK(sender.sent().messages == run.most_messages());
    CHECK(sender.sent().ended_by == EndedBy::samples);
}

TEST_CASE("the ledger of arrivals") {
    ArrivalLedger ledger(10);
    CHECK(ledger.note(0));
    CHECK(ledger.note(3));
    CHECK(ledger.note(2));
    CHECK(!ledger.note(2));
    CHECK(!ledger.note(10)); // no index of this batch
    CHECK(ledger.received() == 3);
    CHECK(ledger.duplicates() == 1);
    CHECK(ledger.reordered() == 1);
}

TEST_CASE("sequence numbers survive packing") {
    for (const SequenceNumber number :
         {SequenceNumber{0, 0, false}, SequenceNumber{0xFFFF'FFFF, 0x7FFF'FFFF, true},
          SequenceNumber{5, 6, false}}) {
        const SequenceNumber again = SequenceNumber::unpacked(number.packed());
        CHECK(again.index == number.index);
        CHECK(again.batch == number.batch);
        CHECK(again.last == number.last);
    }
}

TEST_SUITE_END();
