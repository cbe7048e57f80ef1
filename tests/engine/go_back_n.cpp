// Go-Back-N as a state machine: single moves, and whole ways with losses of three kinds on which
// everything has to arrive once and in order.
#include "protocol/go_back_n.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <optional>
#include <string>

#include "fabric/burst_loss.hpp"
#include "simulator/random.hpp"

using namespace sonde;
using namespace sonde::protocol;

namespace {

constexpr SendRules rules{4, 100, true};
constexpr SendRules simple{4, 100, false};
constexpr AnswerRules at_once{};

// Event string, as the source prints it: P6 N1 T2.
std::string text(const Log& log) {
    std::string said;
    for (const EventRun& run : log.runs()) {
        said += said.empty() ? "" : " ";
        said += "PNT"[static_cast<std::size_t>(run.event)] + std::to_string(run.count);
    }
    return said;
}

std::string moves(const Log& log) {
    std::string said;
    for (const Move& move : log.moves()) {
        said += "NRS"[static_cast<std::size_t>(move.from)];
        said += "NRS"[static_cast<std::size_t>(move.to)];
        said += ' ';
    }
    return said;
}

Sender full(Sequence first = 0) {
    Sender sender(first);
    for (int i = 0; i < 4; ++i) {
        (void)sender.send_new(rules, i, static_cast<std::uint64_t>(i));
    }
    return sender;
}

enum class Kind { random, bursts, drop_tail };

struct Way {
    Kind loss = Kind::random;
    SendRules send{};
    AnswerRules answers{};
    Sequence first = 0;
    std::uint64_t seed = 0;
};

struct Found {
    std::uint64_t accepted = 0;
    std::uint64_t lost = 0; // packets, Packs and Nacks
    std::uint64_t sent = 0;
    std::uint64_t nacks = 0;
    std::uint64_t time_outs = 0;
    Ticks took = 0;
    bool in_order = true;
};

// A sender and a receiver, a line of 10 ticks a packet each way, 100 ticks long. Forward it leads
// into a queue of 6 packets, which is emptied every 11 ticks, where losses are those of its end.
class World {
public:
    World(const Way& way, std::uint64_t packets)
        : way_(way), random_(way.seed, 1), packets_(packets), sender_(way.first),
          receiver_(way.first) {
        sender_.reserve(way.send.window_packets);
    }

    Found run() {
        while (acknowledged_ < packets_ && found_.in_order) {
            now_ = next_time();
            REQUIRE(now_ != never);
            arrive();
            time_out();
            send();
        }
        found_.took = now_;
        return found_;
    }

private:
    struct OnWay {
        Ticks at = 0;
        Sequence number = 0;
        std::uint64_t kept = 0;
        Answer answer = Answer::none;
    };
    static constexpr Ticks line = 10, length = 100, service = 11, queue = 6;

    [[nodiscard]] bool can_send() const {
        return sender_.has_resend() || (made_ < packets_ && sender_.may_send_new(way_.send));
    }
    [[nodiscard]] Ticks next_time() const {
        Ticks at = std::min(timer_at_, late_at_);
        at = data_.empty() ? at : std::min(at, data_.front().at);
        at = answers_.empty() ? at : std::min(at, answers_.front().at);
        return can_send() ? std::min(at, std::max(now_, line_free_at_)) : at;
    }

    [[nodiscard]] bool is_lost() {
        constexpr BurstLoss bursts{0.005, 0.2, 0.0, 0.8};
        const auto happens = [this](double ratio) { return random_.happens(ratio); };
        switch (way_.loss) {
        case Kind::random:
            return happens(0.02);
        case Kind::bursts:
            return lose_in_burst(bursts, bad_, happens);
        case Kind::drop_tail:
            break;
        }
        return false;
    }

    void send() {
        if (!can_send() || line_free_at_ > now_) {
            return;
        }
        line_free_at_ = now_ + line;
        const Sent sent = sender_.has_resend() ? sender_.send_again(way_.send, now_, &log_)
                                               : sender_.send_new(way_.send, now_, made_++);
        ++found_.sent;
        timer_at_ = sent.timer_at == never ? timer_at_ : sent.timer_at;
        const Ticks there = now_ + line + length;
        if (way_.loss == Kind::drop_tail) {
            served_at_ = std::max(served_at_, there);
            if ((served_at_ - there) / service >= queue) {
                ++found_.lost;
                return;
            }
            served_at_ += service;
            data_.push_back({served_at_, sent.number, sent.kept, Answer::none});
        } else if (is_lost()) {
            ++found_.lost;
        } else {
            data_.push_back({there, sent.number, sent.kept, Answer::none});
        }
    }

    // Answers are lost as often as packets; where the queue drops, each tenth of them.
    void answer(Answer with) {
        found_.nacks += with == Answer::nack ? 1 : 0;
        if (is_lost() || (way_.loss == Kind::drop_tail && random_.happens(0.1))) {
            ++found_.lost;
        } else {
            answers_.push_back({now_ + line + length, receiver_.expected(), 0, with});
        }
    }

    void arrive() {
        while (!data_.empty() && data_.front().at <= now_) {
            const OnWay packet = data_.front();
            data_.pop_front();
            const Taken taken = receiver_.take(packet.number, way_.answers, now_);
            if (taken.arrival == Arrival::accepted) {
                found_.in_order = found_.in_order && packet.kept == found_.accepted;
                ++found_.accepted;
            }
            if (taken.answer != Answer::none) {
                answer(taken.answer);
            }
            late_at_ = taken.timer_at == never ? late_at_ : taken.timer_at;
        }
        while (!answers_.empty() && answers_.front().at <= now_) {
            const OnWay back = answers_.front();
            answers_.pop_front();
            acknowledged_ += back.answer == Answer::nack
                                 ? sender_.take_nack(back.number, now_, &log_).acknowledged
                                 : sender_.take_pack(back.number, now_, &log_);
        }
    }

    void time_out() {
        if (timer_at_ <= now_) {
            const TimedOut out = sender_.on_timer(way_.send, now_, &log_);
            found_.time_outs += out.packets;
            timer_at_ = out.timer_at;
        }
        if (late_at_ <= now_) {
            late_at_ = never;
            if (receiver_.on_timer()) {
                answer(Answer::pack);
            }
        }
        log_ = Log(); // what is kept would be a gigabyte
    }

    const Way way_;
    simulator::Random random_;
    std::uint64_t packets_;
    Sender sender_;
    Receiver receiver_;
    Log log_;
    std::deque<OnWay> data_, answers_;
    Ticks now_ = 0, line_free_at_ = 0, served_at_ = 0, timer_at_ = never, late_at_ = never;
    std::uint64_t made_ = 0, acknowledged_ = 0;
    bool bad_ = false;
    Found found_;
};

Way draw_way(Kind loss, std::uint64_t seed) {
    simulator::Random random(seed, 2);
    Way way;
    way.loss = loss;
    way.seed = seed;
    way.first = random.below(2) == 0 ? 0 : 0U - 1000U; // numbers wrap soon
    way.send = {1 + random.below(40), 700 + random.below(3000), random.below(3) > 0};
    way.answers = {static_cast<Acknowledge>(random.below(3)),
                   1 + random.below(way.send.window_packets), 1 + random.below(300),
                   way.send.nacks};
    return way;
}

void play(Kind loss, std::uint64_t packets_of_each, std::uint64_t rounds) {
    std::uint64_t lost = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Way way = draw_way(loss, round);
        CAPTURE(round);
        CAPTURE(way.send.window_packets);
        CAPTURE(way.send.timeout);
        CAPTURE(way.send.nacks);
        const Found found = World(way, packets_of_each).run();
        CHECK(found.in_order);
        CHECK(found.accepted == packets_of_each);
        CHECK((way.send.nacks || found.nacks == 0));
        lost += found.lost;
    }
    CHECK(lost > packets_of_each * rounds / 1000);
}

} // namespace

TEST_SUITE_BEGIN("go_back_n");

TEST_CASE("a window is sent, and each Pack slides it") {
    Sender sender = full();
    CHECK(!sender.may_send_new(rules));
    Log log;
    CHECK(sender.take_pack(3, 50, &log) == 3);
    CHECK(sender.take_pack(3, 51, &log) == 0); // an answer to what was sent twice
    CHECK(sender.take_pack(2, 52, &log) == 0); // one that comes late
    CHECK(sender.take_pack(5, 53, &log) == 0); // of what was never sent
    CHECK(sender.outstanding() == 1);
    CHECK(sender.may_send_new(rules));
    CHECK(text(log) == "P1");
    CHECK(moves(log).empty());
}

TEST_CASE("one timer is set for all, for the earliest") {
    Sender sender;
    CHECK(sender.send_new(rules, 7, 0).timer_at == 107);
    CHECK(sender.send_new(rules, 9, 0).timer_at == never);
    CHECK(sender.take_pack(1, 20, nullptr) == 1);
    const TimedOut early = sender.on_timer(rules, 107, nullptr); // of the one that is there
    CHECK(early.packets == 0);
    CHECK(early.timer_at == 109);
    const TimedOut due = sender.on_timer(rules, 109, nullptr);
    CHECK(due.packets == 1);
    CHECK(due.batch);
    CHECK(due.timer_at == never);
    CHECK(sender.send_again(rules, 110, nullptr).timer_at == 210);
}

TEST_CASE("a Nack: all that is outstanding is sent again, then nothing new until a Pack") {
    Sender sender = full();
    Log log;
    const Sender::Missed missed = sender.take_nack(1, 60, &log);
    CHECK(missed.counts);
    CHECK(missed.acknowledged == 1);
    CHECK(sender.state() == State::resend);
    CHECK(!sender.may_send_new(rules));
    for (const Sequence number : {1U, 2U, 3U}) {
        const Sent sent = sender.send_again(rules, 61, &log);
        CHECK(sent.number == number);
        CHECK(sent.kept == number);
    }
    CHECK(!sender.has_resend());
    CHECK(sender.state() == State::stall);
    CHECK(!sender.may_send_new(rules)); // though the window has room
    CHECK(!sender.take_nack(0, 62, &log).counts);
    CHECK(!sender.take_nack(4, 62, &log).counts);
    CHECK(sender.take_pack(2, 63, &log) == 1);
    CHECK(sender.state() == State::normal);
    CHECK(sender.may_send_new(rules));
    CHECK(text(log) == "N1 P1");
    CHECK(moves(log) == "NR RS SN ");
    CHECK(log.moves()[1].at == 61);
}

TEST_CASE("a Pack while packets are sent again ends the Stall before it begins") {
    Sender sender = full();
    Log log;
    (void)sender.take_nack(0, 60, &log);
    (void)sender.send_again(rules, 61, &log);
    CHECK(sender.take_pack(1, 62, &log) == 1);
    CHECK(sender.state() == State::resend);
    (void)sender.send_again(rules, 63, &log);
    (void)sender.send_again(rules, 64, &log);
    (void)sender.send_again(rules, 65, &log);
    CHECK(moves(log) == "NR RN ");
    CHECK(sender.take_pack(4, 66, &log) == 3);

    sender = full();
    (void)sender.take_nack(0, 60, nullptr);
    CHECK(sender.take_pack(4, 61, nullptr) == 4); // the Nack was overtaken by what it asked for
    CHECK(!sender.has_resend());
    CHECK(sender.state() == State::normal);
    CHECK(sender.may_send_new(rules));
}

TEST_CASE("in a Stall what times out is sent again, and the Stall goes on") {
    Sender sender = full();
    Log log;
    (void)sender.take_nack(0, 60, &log);
    for (Ticks at = 61; at < 65; ++at) {
        (void)sender.send_again(rules, at, &log);
    }
    CHECK(sender.on_timer(rules, 162, &log).packets == 2);
    CHECK(sender.send_again(rules, 163, &log).number == 0);
    CHECK(sender.send_again(rules, 164, &log).number == 1);
    CHECK(sender.state() == State::stall);
    // Packets that time out together are one event of the sender, and so many time-outs.
    CHECK(text(log) == "N1 T1");
}

TEST_CASE("simple Go-Back-N goes back: after a time-out all is sent again, before anything new") {
    Sender sender = full();
    const TimedOut out = sender.on_timer(simple, 100, nullptr); // of the first alone
    CHECK(out.packets == 1);
    CHECK(out.timer_at == never);
    for (const Sequence number : {0U, 1U, 2U, 3U}) {
        CHECK(!sender.may_send_new(simple));
        CHECK(sender.send_again(simple, 101, nullptr).number == number);
    }
    CHECK(!sender.has_resend());
    CHECK(sender.state() == State::normal);
}

TEST_CASE("the receiver says once that something is missing, and answers what it has again") {
    Receiver receiver;
    CHECK(receiver.take(0, at_once, 0).answer == Answer::pack);
    CHECK(receiver.take(2, at_once, 1).answer == Answer::nack);
    CHECK(receiver.expected() == 1);
    CHECK(receiver.is_missing());
    CHECK(receiver.take(3, at_once, 2).answer == Answer::none);
    const Taken again = receiver.take(0, at_once, 3);
    CHECK(again.arrival == Arrival::duplicate);
    CHECK(again.answer == Answer::pack);
    CHECK(receiver.is_missing());
    CHECK(receiver.take(1, at_once, 4).answer == Answer::pack);
    CHECK(!receiver.is_missing());
    AnswerRules without = at_once;
    without.nacks = false;
    CHECK(receiver.take(5, without, 5).answer == Answer::none);
}

TEST_CASE("each call says how it is answered") {
    constexpr AnswerRules delayed{Acknowledge::delayed, 3, 50, true};
    constexpr AnswerRules along{Acknowledge::piggyback, 3, 50, true};
    Receiver receiver;
    CHECK(receiver.take(0, delayed, 10).timer_at == 60);
    CHECK(!receiver.answers_along());
    CHECK(receiver.take(1, delayed, 11).timer_at == never); // one is set
    CHECK(receiver.take(2, delayed, 12).answer == Answer::pack);
    CHECK(!receiver.on_timer()); // nothing is owed
    CHECK(receiver.take(3, along, 13).timer_at == 63);
    CHECK(receiver.answers_along());
    CHECK(!receiver.answers_along());
    CHECK(receiver.take(4, along, 14).answer == Answer::none);
    CHECK(receiver.on_timer());
    CHECK(receiver.take(5, along, 15).answer == Answer::none);
    CHECK(receiver.take(6, at_once, 16).answer == Answer::pack); // of both
    CHECK(!receiver.answers_along());
}

TEST_CASE("numbers wrap") {
    constexpr Sequence first = 0U - 2U;
    Sender sender = full(first);
    CHECK(sender.take_nack(first + 1, 60, nullptr).acknowledged == 1);
    for (const Sequence number : {first + 1, 0U, 1U}) {
        CHECK(sender.send_again(rules, 61, nullptr).number == number);
    }
    CHECK(sender.take_pack(1, 62, nullptr) == 2);
    Receiver receiver(first);
    for (const Sequence number : {first, first + 1, 0U}) {
        CHECK(receiver.take(number, at_once, 0).arrival == Arrival::accepted);
    }
    CHECK(receiver.take(first, at_once, 1).arrival == Arrival::duplicate);
    CHECK(receiver.take(2, at_once, 1).arrival == Arrival::out_of_order);
}

TEST_CASE("memory is taken while a window opens, none for each packet") {
    constexpr SendRules wide{300, 1'000'000, true};
    Sender sender(0U - 150U);
    Receiver receiver(0U - 150U);
    for (std::uint64_t i = 0; i < 1000; ++i) { // grows across the wrap, with packets outstanding
        while (sender.may_send_new(wide)) {
            (void)sender.send_new(wide, 0, i);
        }
        (void)sender.take_pack(sender.base() + 1, 0, nullptr);
    }
    CHECK(sender.outstanding() == 299);
    (void)sender.take_nack(sender.base(), 0, nullptr);
    std::uint64_t before = 0;
    for (int i = 0; i < 299; ++i) {
        const std::uint64_t kept = sender.send_again(wide, 0, nullptr).kept;
        CHECK(kept >= before);
        before = kept;
    }
}

TEST_CASE("random loss: everything once and in order") { play(Kind::random, 1000, 60); }
TEST_CASE("bursts of losses: everything once and in order") { play(Kind::bursts, 1000, 60); }
TEST_CASE("a full queue: everything once and in order") { play(Kind::drop_tail, 1000, 60); }

TEST_CASE("simple Go-Back-N recovers from a loss: one time-out for each") {
    // 20 packets of window over a way of 240 ticks and a time-out of 5000: about ten losses.
    Way way{Kind::random, {24, 5000, false}, {Acknowledge::immediate, 1, 0, false}, 0, 3};
    const Found found = World(way, 20'000).run();
    const double without_loss = 20'000 * 10.0;
    const double of_losses = static_cast<double>(found.lost) * 5000.0;
    CHECK(static_cast<double>(found.took) < without_loss + of_losses * 1.1);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("go_back_n_soak");

TEST_CASE("ten million packets with each kind of loss") {
    for (const Kind kind : {Kind::random, Kind::bursts, Kind::drop_tail}) {
        CAPTURE(static_cast<int>(kind));
        play(kind, 1'000'000, 10);
    }
}

TEST_SUITE_END();
