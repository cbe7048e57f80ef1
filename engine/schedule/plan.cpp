#include "schedule/plan.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde::schedule {

namespace {

constexpr std::int64_t line_bytes = 64; // what is put between begins at a cache line

struct Spot {
    Memory memory = Memory::given;
    std::int64_t at = 0;
};

Failure too_large(const std::string& what) {
    return {"bad_request", "this algorithm needs more than " + what + " of one rank here"};
}

// What planning of every family shares: the steps in their order, pieces that lie one behind the
// other joined, and memory between.
class Planner {
public:
    Planner(const Schedule& schedule, Rank rank)
        : schedule_(&schedule), layout_(&schedule.layout()), rank_(rank) {
        plan_.window = schedule.window();
    }
    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;
    virtual ~Planner() = default;

    [[nodiscard]] Plan make() {
        begin();
        const std::unique_ptr<Steps> steps = schedule_->steps(rank_);
        for (Step step; steps->next(step);) {
            add(step);
        }
        end();
        return std::move(plan_);
    }

protected:
    virtual void begin() = 0;
    virtual void end() = 0;
    // The bytes of a range, in the order in which both ends name them.
    virtual void place(const Step& step, const Range& range) = 0;
    virtual void join(const Step& step, const Range& range) = 0;

    [[nodiscard]] Rank ranks() const { return schedule_->parameters().ranks; }
    [[nodiscard]] Rank root() const { return schedule_->parameters().root; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] const Layout& layout() const { return *layout_; }
    [[nodiscard]] Plan& plan() { return plan_; }

    [[nodiscard]] std::int64_t take(std::int64_t bytes) {
        const std::int64_t at = (plan_.between_bytes + line_bytes - 1) / line_bytes * line_bytes;
        take_until(at + bytes);
        return at;
    }

    void take_until(std::int64_t end) {
        plan_.between_bytes = std::max(plan_.between_bytes, end);
        if (plan_.between_bytes > most_planned_bytes) {
            throw too_large("64 GiB of memory between");
        }
    }

    void piece(Spot place, std::int64_t bytes) {
        if (bytes == 0) {
            return;
        }
        PlannedStep& step = plan_.steps.back();
        step.bytes += bytes;
        if (step.count > 0) {
            Piece& last = plan_.pieces.back();
            if (last.memory == place.memory && last.place + last.bytes == place.at) {
                last.bytes += bytes;
                return;
            }
        }
        if (plan_.pieces.size() >= most_planned_pieces) {
            throw too_large("2^26 pieces of messages");
        }
        plan_.pieces.push_back({place.memory, place.at, bytes});
        ++step.count;
    }

    [[nodiscard]] std::int32_t block_of(const Range& range, std::int32_t i) const {
        return static_cast<std::int32_t>((std::int64_t{range.block} + i) % layout_->blocks());
    }

private:
    template <class Visit>
    static void each(const Step& step, Visit visit) {
        visit(step.data);
        for (const Range& range : step.more) {
            visit(range);
        }
    }

    void add(const Step& step) {
        PlannedStep planned{
            .action = step.action, .left = step.left, .peer = step.peer, .after = step.after};
        const bool joins = step.action == Action::combine;
        planned.first =
            static_cast<std::uint32_t>(joins ? plan_.joinings.size() : plan_.pieces.size());
        plan_.steps.push_back(planned);
        if (joins) {
            each(step, [&](const Range& range) { join(step, range); });
        } else if (step.action != Action::copy) {
            each(step, [&](const Range& range) { place(step, range); });
            if (plan_.steps.back().count > 1) {
                plan_.steps.back().together = take(plan_.steps.back().bytes);
            }
        }
    }

    const Schedule* schedule_;
    const Layout* layout_;
    Rank rank_;
    Plan plan_;
};

// Families that move data and do not change them.
class ItemPlanner final : public Planner {
public:
    ItemPlanner(const Schedule& schedule, Family family, Rank rank, const CallersPlaces& places)
        : Planner(schedule, rank), family_(family), given_(places.given), got_(places.got),
          segment_bytes_(schedule.parameters().segment_bytes) {
        if (given_.empty()) {
            std::int64_t at = 0;
            for (std::int32_t block = 0; block < layout().blocks(); ++block) {
                given_.push_back(at);
                at += layout().bytes(of_root() ? this->root() : rank, block);
            }
        }
        if (got_.empty() && !of_root()) {
            std::int64_t at = 0;
            for (Rank origin = 0; origin < ranks(); ++origin) {
                got_.push_back(at);
                at += layout().bytes(origin, final_block());
            }
        }
    }

protected:
    // What a rank has and is to end with.
    void begin() override {
        const Rank origin = of_root() ? root() : rank();
        for (std::int32_t block = 0; block < layout().blocks(); ++block) {
            const std::int64_t bytes = layout().bytes(origin, block);
            if (family_ != Family::broadcast && is_initial(origin) && is_final(block) &&
                bytes > 0) {
                const Spot to = final_place(origin, block);
                plan().before.push_back(
                    {{Memory::given, given_[static_cast<std::size_t>(block)], bytes},
                     to.memory,
                     to.at});
            }
        }
    }
    void end() override {}
    void join(const Step& /*step*/, const Range& /*range*/) override {}

    void place(const Step& step, const Range& range) override {
        for (Rank i = 0; i < range.origins; ++i) {
            const auto origin = static_cast<Rank>((std::int64_t{range.origin} + i) % ranks());
            for (std::int32_t j = 0; j < range.blocks; ++j) {
                place_segments(step.action, range, origin, block_of(range, j));
            }
        }
    }

private:
    void place_segments(Action action, const Range& range, Rank origin, std::int32_t block) {
        const std::int64_t end = std::min<std::int64_t>(
            std::int64_t{range.segment} + range.segments, layout().segments(origin, block));
        if (range.segment >= end) {
            return;
        }
        Spot at = action == Action::send ? held(origin, block) : kept(origin, block);
        at.at += range.segment * segment_bytes_;
        for (std::int64_t segment = range.segment; segment < end; ++segment) {
            const std::int64_t bytes =
                layout().bytes(origin, block, static_cast<std::int32_t>(segment));
            piece(at, bytes);
            at.at += bytes;
        }
    }

    [[nodiscard]] bool of_root() const {
        return family_ == Family::broadcast || family_ == Family::scatter;
    }
    [[nodiscard]] std::int32_t final_block() const {
        return family_ == Family::alltoall ? rank() : 0;
    }
    [[nodiscard]] bool is_initial(Rank origin) const {
        return of_root() ? rank() == root() : origin == rank();
    }
    [[nodiscard]] bool is_final(std::int32_t block) const {
        switch (family_) {
        case Family::scatter:
        case Family::alltoall:
            return block == rank();
        case Family::gather:
            return rank() == root();
        default:
            return true;
        }
    }
    [[nodiscard]] Spot final_place(Rank origin, std::int32_t block) const {
        if (family_ == Family::scatter) {
            return {Memory::got, 0};
        }
        return {Memory::got, family_ == Family::broadcast ? given_[static_cast<std::size_t>(block)]
                                                          : got_[static_cast<std::size_t>(origin)]};
    }
    [[nodiscard]] Spot held(Rank origin, std::int32_t block) {
        if (is_initial(origin)) {
            return {family_ == Family::broadcast ? Memory::got : Memory::given,
                    given_[static_cast<std::size_t>(block)]};
        }
        return kept(origin, block);
    }
    [[nodiscard]] Spot kept(Rank origin, std::int32_t block) {
        if (is_final(block)) {
            return final_place(origin, block);
        }
        const auto [found, is_new] = on_the_way_.try_emplace({origin, block}, 0);
        if (is_new) {
            found->second = take(layout().bytes(origin, block));
        }
        return {Memory::between, found->second};
    }

    Family family_;
    std::vector<std::int64_t> given_;
    std::vector<std::int64_t> got_;
    std::int64_t segment_bytes_;
    std::map<std::pair<Rank, std::int32_t>, std::int64_t> on_the_way_;
};

// Reductions: what a rank has of a block stays where it was given until it is joined or replaced.
class PartialPlanner final : public Planner {
public:
    PartialPlanner(const Schedule& schedule, Family family, Rank rank, const CallersPlaces& places)
        : Planner(schedule, rank), family_(family), given_(places.given) {
        if (given_.empty()) {
            std::int64_t at = 0;
            for (std::int32_t block = 0; block < layout().blocks(); ++block) {
                given_.push_back(at);
                at += layout().bytes(0, block);
            }
        }
    }

protected:
    void begin() override {
        const bool has_result =
            family_ == Family::allreduce || (family_ == Family::reduce && rank() == root());
        std::int64_t at = 0;
        if (!has_result) {
            std::int64_t bytes = 0;
            for (std::int32_t block = 0; block < layout().blocks(); ++block) {
                bytes += layout().bytes(0, block);
            }
            at = take(bytes);
        }
        for (std::int32_t block = 0; block < layout().blocks(); ++block) {
            home_.push_back({has_result ? Memory::got : Memory::between, at});
            at += layout().bytes(0, block);
        }
        is_home_.assign(home_.size(), false);
    }

    void end() override {
        for (std::int32_t block = 0; block < layout().blocks(); ++block) {
            const auto i = static_cast<std::size_t>(block);
            const bool scattered = family_ == Family::reduce_scatter;
            const bool required = scattered ? block == rank() : home_[i].memory == Memory::got;
            const std::int64_t bytes = layout().bytes(0, block);
            if (!required || bytes == 0 || (is_home_[i] && !scattered)) {
                continue;
            }
            const Spot from = where(block);
            plan().after.push_back(
                {{from.memory, from.at, bytes}, Memory::got, scattered ? 0 : home_[i].at});
        }
    }

    void place(const Step& step, const Range& range) override {
        for (std::int32_t j = 0; j < range.blocks; ++j) {
            const std::int32_t block = block_of(range, j);
            const auto i = static_cast<std::size_t>(block);
            const std::int64_t bytes = layout().bytes(0, block);
            if (step.action == Action::send) {
                piece(range.origin == partial ? where(block) : Spot{Memory::given, given_[i]},
                      bytes);
            } else if (step.place == Place::named) {
                is_home_[i] = true;
                piece(home_[i], bytes);
            } else {
                const std::int64_t at = aside(bytes);
                asides_[{step.peer, block}] = at;
                piece({Memory::between, at}, bytes);
            }
        }
    }

    void join(const Step& step, const Range& range) override {
        for (std::int32_t j = 0; j < range.blocks; ++j) {
            const std::int32_t block = block_of(range, j);
            const auto i = static_cast<std::size_t>(block);
            const std::int64_t bytes = layout().bytes(0, block);
            if (bytes > 0) {
                add({{home_[i].memory, home_[i].at, bytes},
                     asides_.at({step.peer, block}),
                     is_home_[i] ? -1 : given_[i]});
                is_home_[i] = true;
            }
        }
    }

private:
    [[nodiscard]] Spot where(std::int32_t block) const {
        const auto i = static_cast<std::size_t>(block);
        return is_home_[i] ? home_[i] : Spot{Memory::given, given_[i]};
    }

    // Blocks of one message lie one behind the other there, too.
    [[nodiscard]] std::int64_t aside(std::int64_t bytes) {
        if (plan().steps.back().count == 0) {
            next_aside_ = take(0);
        }
        const std::int64_t at = next_aside_;
        next_aside_ += bytes;
        take_until(next_aside_);
        return at;
    }

    // Joined with the last one where all of both lies one behind the other.
    void add(const Joining& more) {
        PlannedStep& step = plan().steps.back();
        if (step.count > 0) {
            Joining& last = plan().joinings.back();
            const std::int64_t bytes = last.own.bytes;
            const bool is_next_given =
                last.given < 0 ? more.given < 0 : more.given == last.given + bytes;
            if (last.own.memory == more.own.memory && last.own.place + bytes == more.own.place &&
                last.received + bytes == more.received && is_next_given) {
                last.own.bytes += more.own.bytes;
                return;
            }
        }
        plan().joinings.push_back(more);
        ++step.count;
    }

    Family family_;
    std::vector<std::int64_t> given_;
    std::vector<Spot> home_;    // of each block
    std::vector<bool> is_home_; // or still given
    std::map<std::pair<Rank, std::int32_t>, std::int64_t> asides_;
    std::int64_t next_aside_ = 0;
};

} // namespace

Plan plan_of(const Schedule& schedule, Family family, Rank rank, const CallersPlaces& places) {
    return is_reduction(family) ? PartialPlanner(schedule, family, rank, places).make()
                                : ItemPlanner(schedule, family, rank, places).make();
}

} // namespace sonde::schedule
