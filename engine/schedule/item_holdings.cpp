// Families that move data and do not change them: a bit for each item and rank.
#include <algorithm>
#include <string>

#include "core/failure.hpp"
#include "schedule/holdings.hpp"

namespace sonde::schedule {

namespace {

class ItemHoldings final : public Holdings {
public:
    ItemHoldings(const Schedule& schedule, Family family, Problems& problems)
        : layout_(&schedule.layout()), parameters_(&schedule.parameters()), family_(family),
          problems_(&problems) {
        const bool of_root = family == Family::broadcast || family == Family::scatter;
        origins_ = of_root ? 1 : ranks();
        first_origin_ = of_root ? parameters_->root : 0;
        for (Rank origin = 0; origin < origins_; ++origin) {
            for (std::int32_t block = 0; block < layout_->blocks(); ++block) {
                segments_ = std::max(segments_, layout_->segments(first_origin_ + origin, block));
            }
        }
        // Multiplied stepwise: each factor is at most 2^20.
        per_rank_ = std::int64_t{origins_} * layout_->blocks();
        if (per_rank_ > most_held_items || per_rank_ * segments_ > most_held_items ||
            per_rank_ * segments_ * ranks() > most_held_items) {
            throw Failure("bad_request", "a check of so many ranks, blocks and segments would hold "
                                         "more than 2^32 items; give fewer");
        }
        per_rank_ *= segments_;
        held_.resize(static_cast<std::size_t>(per_rank_ * ranks()));
        for (Rank rank = 0; rank < ranks(); ++rank) {
            start(rank);
        }
    }

    void message_started(Rank rank, const PlayedStep& step) override {
        if (step.step.action == Action::send) {
            demand(rank, step, "sends");
        } else if (step.step.place == Place::aside) {
            problems_->add("rank " + std::to_string(rank) + " receives aside in step " +
                           std::to_string(step.number) + ", where nothing is reduced");
        }
    }
    void message_complete(Rank /*from*/, const PlayedStep& send, Rank to,
                          const PlayedStep& /*receive*/) override {
        each_range(send, [&](const Range& range) {
            if (sound(range)) { // else it was refused when it started
                each_item(range, [&](std::int64_t item) { held_[index(to, item)] = true; });
            }
        });
    }
    void local(Rank rank, const PlayedStep& step) override {
        if (step.step.action == Action::combine) {
            problems_->add("rank " + std::to_string(rank) + " combines in step " +
                           std::to_string(step.number) + ", where nothing is reduced");
        } else {
            demand(rank, step, "copies");
        }
    }
    void finish() override {
        for (Rank rank = 0; rank < ranks(); ++rank) {
            each_item(required(rank), [&](std::int64_t item) {
                if (!held_[index(rank, item)]) {
                    problems_->add("rank " + std::to_string(rank) + " ends without " + name(item));
                }
            });
        }
    }

private:
    [[nodiscard]] Rank ranks() const { return parameters_->ranks; }
    [[nodiscard]] std::size_t index(Rank rank, std::int64_t item) const {
        return static_cast<std::size_t>(rank * per_rank_ + item);
    }
    [[nodiscard]] std::string name(std::int64_t item) const {
        const std::int64_t cell = item / segments_;
        return "segment " + std::to_string(item % segments_) + " of block " +
               std::to_string(cell % layout_->blocks()) + " of rank " +
               std::to_string(first_origin_ + cell / layout_->blocks());
    }
    template <class Visit>
    void each_item(const Range& range, Visit visit) const {
        for (Rank i = 0; i < range.origins; ++i) {
            const auto origin = static_cast<Rank>((std::int64_t{range.origin} + i) % ranks());
            const Rank row = origin - first_origin_;
            if (row < 0 || row >= origins_) {
                problems_->add("data of rank " + std::to_string(origin) +
                               " are named, which has none");
                return;
            }
            for (std::int32_t j = 0; j < range.blocks; ++j) {
                const auto block =
                    static_cast<std::int32_t>((std::int64_t{range.block} + j) % layout_->blocks());
                const std::int64_t end = std::min<std::int64_t>(
                    std::int64_t{range.segment} + range.segments, layout_->segments(origin, block));
                const std::int64_t base =
                    (std::int64_t{row} * layout_->blocks() + block) * segments_;
                for (std::int64_t segment = range.segment; segment < end; ++segment) {
                    visit(base + segment);
                }
            }
        }
    }
    [[nodiscard]] bool sound(const Range& range) const {
        return range.origin >= 0 && range.origin < ranks() && range.origins >= 0 &&
               range.origins <= ranks() && range.block >= 0 && range.block < layout_->blocks() &&
               range.blocks >= 0 && range.blocks <= layout_->blocks() && range.segment >= 0 &&
               range.segments >= 0;
    }
    void demand(Rank rank, const PlayedStep& step, const std::string& verb) {
        each_range(step, [&](const Range& range) {
            if (!sound(range)) {
                problems_->add("rank " + std::to_string(rank) + " " + verb +
                               " what there is not, " + describe(range));
                return;
            }
            std::int64_t missing = -1;
            each_item(range, [&](std::int64_t item) {
                missing = missing < 0 && !held_[index(rank, item)] ? item : missing;
            });
            if (missing >= 0) {
                problems_->add("rank " + std::to_string(rank) + " " + verb + " in step " +
                               std::to_string(step.number) + " what it does not have, " +
                               name(missing));
            }
        });
    }
    void start(Rank rank) {
        const bool of_root = family_ == Family::broadcast || family_ == Family::scatter;
        if (!of_root || rank == parameters_->root) {
            each_item({.origin = rank, .blocks = layout_->blocks()},
                      [&](std::int64_t item) { held_[index(rank, item)] = true; });
        }
    }
    [[nodiscard]] Range required(Rank rank) const {
        switch (family_) {
        case Family::broadcast:
            return {.origin = parameters_->root, .blocks = layout_->blocks()};
        case Family::scatter:
            return {.origin = parameters_->root, .block = rank};
        case Family::gather:
            return {.origins = rank == parameters_->root ? ranks() : 0};
        case Family::alltoall:
            return {.origins = ranks(), .block = rank};
        default:
            return {.origins = ranks()};
        }
    }

    const Layout* layout_;
    const Parameters* parameters_;
    Family family_;
    Problems* problems_;
    Rank origins_ = 1;
    Rank first_origin_ = 0;
    std::int32_t segments_ = 1;
    std::int64_t per_rank_ = 0;
    std::vector<bool> held_;
};

} // namespace

std::unique_ptr<Holdings> make_item_holdings(const Schedule& schedule, Family family,
                                             Problems& problems) {
    return std::make_unique<ItemHoldings>(schedule, family, problems);
}

} // namespace sonde::schedule
