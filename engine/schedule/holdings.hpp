// Who holds which data while a schedule is played: symbols, no bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schedule/player.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

constexpr std::int64_t most_held_items = std::int64_t{1} << 32U; // of all ranks: 512 MiB of bits
constexpr std::int64_t most_held_partials = std::int64_t{1} << 23U;

class Holdings {
public:
    Holdings() = default;
    Holdings(const Holdings&) = delete;
    Holdings& operator=(const Holdings&) = delete;
    virtual ~Holdings() = default;

    virtual void message_started(Rank rank, const PlayedStep& step) = 0;
    virtual void message_complete(Rank from, const PlayedStep& send, Rank to,
                                  const PlayedStep& receive) = 0;
    virtual void local(Rank rank, const PlayedStep& step) = 0;
    // Whether each rank has in the end what the family demands.
    virtual void finish() = 0;
    // Of reductions: every result was combined in the order of the ranks.
    [[nodiscard]] virtual bool rank_order() const { return true; }
};

// Throws Failure("bad_request") where there would be too much to hold.
[[nodiscard]] std::unique_ptr<Holdings> make_item_holdings(const Schedule& schedule, Family family,
                                                           Problems& problems);
[[nodiscard]] std::unique_ptr<Holdings> make_partial_holdings(const Schedule& schedule,
                                                              Family family, Problems& problems);
[[nodiscard]] std::unique_ptr<Holdings> make_holdings(const Schedule& schedule, Family family,
                                                      Problems& problems);

// Ranks that follow one another, in the order in which their contributions were combined.
struct Run {
    Rank first = 0;
    Rank last = 0;

    friend bool operator==(const Run&, const Run&) = default;
};
using Contributions = std::vector<Run>;

[[nodiscard]] Contributions join(const Contributions& left, const Contributions& right);
// Whether each rank of 0 to ranks - 1 contributed once.
[[nodiscard]] bool complete(const Contributions& contributions, Rank ranks);
[[nodiscard]] bool in_rank_order(const Contributions& contributions, Rank ranks);

// "(origin 3, block 0..7)"; for sentences about a schedule.
[[nodiscard]] std::string describe(const Range& range);

// Calls visit(range) for each range of a step.
template <class Visit>
void each_range(const PlayedStep& step, Visit visit) {
    visit(step.step.data);
    for (const Range& range : step.more) {
        visit(range);
    }
}

} // namespace sonde::schedule
