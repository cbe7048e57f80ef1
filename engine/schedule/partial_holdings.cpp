// Reductions: of each block a rank has its own contribution, what it combined so far, and what it
// received aside. A value is the list of those who contributed, in order.
#include <algorithm>
#include <string>

#include "core/failure.hpp"
#include "schedule/holdings.hpp"

namespace sonde::schedule {

namespace {

class PartialHoldings final : public Holdings {
public:
    PartialHoldings(const Schedule& schedule, Family family, Problems& problems)
        : layout_(&schedule.layout()), parameters_(&schedule.parameters()), family_(family),
          problems_(&problems) {
        if (std::int64_t{ranks()} * layout_->blocks() > most_held_partials) {
            throw Failure("bad_request", "a check of a reduction of so many ranks and blocks would "
                                         "hold more than 2^23 partial results; give fewer ranks");
        }
        cells_.resize(static_cast<std::size_t>(ranks()) *
                      static_cast<std::size_t>(layout_->blocks()));
        for (Rank rank = 0; rank < ranks(); ++rank) {
            for (std::int32_t block = 0; block < layout_->blocks(); ++block) {
                cell(rank, block).value = {Run{rank, rank}};
            }
        }
    }

    void message_started(Rank rank, const PlayedStep& step) override {
        each_block(rank, step, [&](const Range& range, std::int32_t block) {
            if (range.origin != partial) {
                return; // contributions are not touched
            }
            Cell& held = cell(rank, block);
            if (step.step.action == Action::send) {
                refuse_if(held.writers > 0, rank, step, "sends what it is receiving");
                ++held.readers;
            } else if (step.step.place == Place::named) {
                refuse_if(held.readers + held.writers > 0, rank, step,
                          "receives what it is sending or receiving");
                ++held.writers;
            }
        });
    }
    void message_complete(Rank from, const PlayedStep& send, Rank to,
                          const PlayedStep& receive) override {
        each_block(from, send, [&](const Range& range, std::int32_t block) {
            const bool untouched = range.origin != partial;
            refuse_if(untouched && range.origin != from, from, send,
                      "sends another rank's untouched contribution");
            const Contributions value =
                untouched ? Contributions{Run{from, from}} : cell(from, block).value;
            cell(from, block).readers -= untouched ? 0 : 1;
            if (receive.step.place == Place::named) {
                refuse_if(untouched, to, receive, "keeps an untouched contribution as its result");
                cell(to, block).writers -= untouched ? 0 : 1;
                cell(to, block).value = value;
            } else {
                auto& asides = cell(to, block).asides;
                refuse_if(std::ranges::find(asides, from, &Aside::peer) != asides.end(), to,
                          receive, "receives over what it has not combined yet");
                asides.push_back({from, value});
            }
        });
    }
    void local(Rank rank, const PlayedStep& step) override {
        if (step.step.action == Action::copy) {
            return;
        }
        each_block(rank, step, [&](const Range& /*range*/, std::int32_t block) {
            Cell& held = cell(rank, block);
            const auto aside = std::ranges::find(held.asides, step.step.peer, &Aside::peer);
            if (aside == held.asides.end()) {
                refuse_if(true, rank, step, "combines what it has not received");
                return;
            }
            refuse_if(held.readers + held.writers > 0, rank, step,
                      "combines into what it is sending or receiving");
            held.value = step.step.left == Left::own ? join(held.value, aside->value)
                                                     : join(aside->value, held.value);
            held.asides.erase(aside);
        });
    }
    void finish() override {
        for (Rank rank = 0; rank < ranks(); ++rank) {
            for (std::int32_t block = 0; block < layout_->blocks(); ++block) {
                if (required(rank, block) && layout_->bytes(rank, block) > 0) {
                    judge(rank, block);
                }
            }
        }
    }
    [[nodiscard]] bool rank_order() const override { return rank_order_; }

private:
    struct Aside { // received, and not combined yet
        Rank peer = 0;
        Contributions value;
    };
    struct Cell {
        Contributions value;
        std::vector<Aside> asides;
        std::int32_t readers = 0; // sends under way
        std::int32_t writers = 0; // receives under way
    };

    [[nodiscard]] Rank ranks() const { return parameters_->ranks; }
    [[nodiscard]] Cell& cell(Rank rank, std::int32_t block) {
        return cells_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(layout_->blocks()) +
                      static_cast<std::size_t>(block)];
    }
    void refuse_if(bool wrong, Rank rank, const PlayedStep& step, std::string_view what) {
        if (wrong) {
            problems_->add("rank " + std::to_string(rank) + " " + std::string(what) + " in step " +
                           std::to_string(step.number) + ", " + describe(step.step.data));
        }
    }
    template <class Visit>
    void each_block(Rank rank, const PlayedStep& step, Visit visit) {
        each_range(step, [&](const Range& range) {
            const bool sound = range.origin >= partial && range.origin < ranks() &&
                               range.origins == 1 && range.block >= 0 &&
                               range.block < layout_->blocks() && range.blocks >= 0 &&
                               range.blocks <= layout_->blocks();
            refuse_if(!sound, rank, step, "names what there is not");
            refuse_if(range.segment != 0 || range.segments != whole, rank, step,
                      "reduces parts of blocks, which the check does not know");
            for (std::int32_t i = 0; sound && i < range.blocks; ++i) {
                visit(range, static_cast<std::int32_t>((std::int64_t{range.block} + i) %
                                                       layout_->blocks()));
            }
        });
    }
    [[nodiscard]] bool required(Rank rank, std::int32_t block) const {
        return family_ == Family::allreduce ||
               (family_ == Family::reduce && rank == parameters_->root) ||
               (family_ == Family::reduce_scatter && rank == block);
    }
    void judge(Rank rank, std::int32_t block) {
        const Contributions& value = cell(rank, block).value;
        if (!complete(value, ranks())) {
            problems_->add("rank " + std::to_string(rank) + " ends with block " +
                           std::to_string(block) + " not combined of each rank's once");
        }
        rank_order_ = rank_order_ && in_rank_order(value, ranks());
    }

    const Layout* layout_;
    const Parameters* parameters_;
    Family family_;
    Problems* problems_;
    std::vector<Cell> cells_;
    bool rank_order_ = true;
};

} // namespace

Contributions join(const Contributions& left, const Contributions& right) {
    Contributions joined = left;
    for (const Run& run : right) {
        if (!joined.empty() && joined.back().last + 1 == run.first) {
            joined.back().last = run.last;
        } else {
            joined.push_back(run);
        }
    }
    return joined;
}

bool complete(const Contributions& contributions, Rank ranks) {
    Contributions sorted = contributions;
    std::ranges::sort(sorted, {}, &Run::first);
    Rank next = 0;
    for (const Run& run : sorted) {
        if (run.first != next) {
            return false;
        }
        next = run.last + 1;
    }
    return next == ranks;
}

bool in_rank_order(const Contributions& contributions, Rank ranks) {
    return contributions == Contributions{Run{0, ranks - 1}};
}

std::string describe(const Range& range) {
    const auto span = [](std::string_view word, std::int64_t first, std::int64_t count) {
        std::string text = std::string(word) + " " + std::to_string(first);
        return count == 1 ? text : text + ".." + std::to_string(first + count - 1);
    };
    std::string text = range.origin == partial ? std::string("partial results")
                                               : span("rank", range.origin, range.origins);
    text += ", " + span("block", range.block, range.blocks);
    return range.segments == whole ? text
                                   : text + ", " + span("segment", range.segment, range.segments);
}

std::unique_ptr<Holdings> make_partial_holdings(const Schedule& schedule, Family family,
                                                Problems& problems) {
    return std::make_unique<PartialHoldings>(schedule, family, problems);
}

std::unique_ptr<Holdings> make_holdings(const Schedule& schedule, Family family,
                                        Problems& problems) {
    return is_reduction(family) ? make_partial_holdings(schedule, family, problems)
                                : make_item_holdings(schedule, family, problems);
}

} // namespace sonde::schedule
