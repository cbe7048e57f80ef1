// Executes one rank's plan over real memory. A carrier takes messages to and from other ranks:
//
//   send(bytes, peer, number), receive(bytes, peer, number)   begin; the order to and from a peer
//                                                             is kept
//   combine(left, into)         into = left joined with into, of as many bytes
//   wait(all, completed)        calls completed(number) for one that was begun and is complete, or
//                               for more; if asked, for all
//
// A window limits how many sends are under way; then a send is complete when the other rank has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "schedule/plan.hpp"
#include "schedule/runner.hpp"

namespace sonde::schedule {

class PlannedSteps {
public:
    using Step = PlannedStep;

    PlannedSteps() = default;
    explicit PlannedSteps(std::span<const PlannedStep> steps) : left_(steps) {}

    [[nodiscard]] bool next(Step& step) {
        if (left_.empty()) {
            return false;
        }
        step = left_.front();
        left_ = left_.subspan(1);
        return true;
    }

private:
    std::span<const PlannedStep> left_;
};

template <class Carrier>
class Execution {
public:
    Execution(Plan plan, Carrier carrier)
        : plan_(std::move(plan)), carrier_(std::move(carrier)),
          between_(std::make_unique<std::byte[]>(static_cast<std::size_t>(plan_.between_bytes))) {}

    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

    // From the begin to the end.
    void run(const std::byte* given, std::byte* got) {
        start(given, got);
        while (!proceed()) {
        }
    }

    [[nodiscard]] bool is_done() const noexcept { return is_done_; }

    void start(const std::byte* given, std::byte* got) {
        given_ = given;
        got_ = got;
        copy(plan_.before);
        runner_.restart(PlannedSteps(plan_.steps));
        runner_.advance(*this);
        finish();
    }

    // One more wait and what it lets begin, as long as there is something to wait for; whether all
    // is done.
    bool proceed() {
        if (!is_done_) {
            carrier_.wait(runner_.needs_all() && held_.empty(),
                          [this](std::int64_t number) { complete(number); });
            runner_.advance(*this);
            finish();
        }
        return is_done_;
    }

    // ---- for the runner

    [[nodiscard]] static bool may_begin(const PlannedStep& /*step*/) { return true; }

    void begin(std::int64_t number, const PlannedStep& step) {
        switch (step.action) {
        case Action::send:
            return begin_send(number, step);
        case Action::receive:
            return carrier_.receive(memory_of(step), step.peer, number);
        case Action::combine:
            combine(step);
            break;
        case Action::copy:
            break;
        }
        runner_.completed(number);
    }

private:
    void finish() {
        is_done_ = runner_.is_done();
        if (is_done_) {
            copy(plan_.after);
        }
    }

    [[nodiscard]] const PlannedStep& step(std::int64_t number) const {
        return plan_.steps[static_cast<std::size_t>(number)];
    }
    [[nodiscard]] std::span<const Piece> pieces(const PlannedStep& step) const {
        return std::span(plan_.pieces).subspan(step.first, step.count);
    }
    [[nodiscard]] const std::byte* read_at(Memory memory, std::int64_t place) const {
        return memory == Memory::given ? given_ + place : write_at(memory, place);
    }
    [[nodiscard]] std::byte* write_at(Memory memory, std::int64_t place) const {
        return memory == Memory::got ? got_ + place : between_.get() + place;
    }

    void begin_send(std::int64_t number, const PlannedStep& step) {
        if (plan_.window == 0) {
            return send(number, step);
        }
        held_.push_back(number);
        release();
    }

    // Sends begin in their order.
    void release() {
        while (!held_.empty() && under_way_ < plan_.window) {
            const std::int64_t number = held_.front();
            held_.pop_front();
            ++under_way_;
            send(number, step(number));
        }
    }

    void send(std::int64_t number, const PlannedStep& step) {
        if (step.count == 1) {
            const Piece& only = plan_.pieces[step.first];
            const auto bytes = static_cast<std::size_t>(only.bytes);
            return carrier_.send({read_at(only.memory, only.place), bytes}, step.peer, number);
        }
        std::byte* const together =
            step.together < 0 ? nullptr : write_at(Memory::between, step.together);
        std::byte* to = together;
        for (const Piece& piece : pieces(step)) {
            std::memcpy(to, read_at(piece.memory, piece.place),
                        static_cast<std::size_t>(piece.bytes));
            to += piece.bytes;
        }
        carrier_.send({together, static_cast<std::size_t>(step.bytes)}, step.peer, number);
    }

    [[nodiscard]] std::span<std::byte> memory_of(const PlannedStep& step) const {
        const auto bytes = static_cast<std::size_t>(step.bytes);
        if (step.count == 1) {
            const Piece& only = plan_.pieces[step.first];
            return {write_at(only.memory, only.place), bytes};
        }
        return {step.together < 0 ? nullptr : write_at(Memory::between, step.together), bytes};
    }

    void complete(std::int64_t number) {
        const PlannedStep& done = step(number);
        if (done.action == Action::send) {
            if (plan_.window != 0) {
                --under_way_;
                release();
            }
        } else if (done.count > 1) {
            take_apart(done);
        }
        runner_.completed(number);
    }

    void take_apart(const PlannedStep& step) {
        const std::byte* from = write_at(Memory::between, step.together);
        for (const Piece& piece : pieces(step)) {
            std::memcpy(write_at(piece.memory, piece.place), from,
                        static_cast<std::size_t>(piece.bytes));
            from += piece.bytes;
        }
    }

    // A combination of two operands writes over one of them: what came is joined into what is had,
    // or, where what is had stands left, the other way round and copied.
    void combine(const PlannedStep& step) {
        for (const Joining& each : std::span(plan_.joinings).subspan(step.first, step.count)) {
            const auto bytes = static_cast<std::size_t>(each.own.bytes);
            std::byte* const own = write_at(each.own.memory, each.own.place);
            std::byte* const came = write_at(Memory::between, each.received);
            if (step.left == Left::own) {
                carrier_.combine(each.given < 0 ? own : given_ + each.given, came, bytes);
                std::memcpy(own, came, bytes);
                continue;
            }
            if (each.given >= 0) {
                std::memcpy(own, given_ + each.given, bytes);
            }
            carrier_.combine(came, own, bytes);
        }
    }

    void copy(std::span<const Copy> copies) {
        for (const Copy& each : copies) {
            std::memcpy(write_at(each.to, each.place), read_at(each.from.memory, each.from.place),
                        static_cast<std::size_t>(each.from.bytes));
        }
    }

    Plan plan_;
    Carrier carrier_;
    std::unique_ptr<std::byte[]> between_;
    StepRunner<PlannedSteps> runner_;
    const std::byte* given_ = nullptr;
    std::byte* got_ = nullptr;
    std::deque<std::int64_t> held_; // sends for which the window has no room
    std::int64_t under_way_ = 0;
    bool is_done_ = true;
};

} // namespace sonde::schedule
