// Direct exchanges: each block goes straight to its owner. They differ in the order of partners, in
// where a rank waits, and in whether packets of several blocks are mixed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "schedule/alltoall_hierarchy.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

struct DirectPlan {
    // None: everybody goes through the ranks from 0 on.
    std::optional<Permutation> permutation;
    // Partners of a round; a rank begins a round when it is through with the one before. The last
    // round has what is left over. 0: all partners, so that nobody ever waits.
    Rank fan_out = 0;
    // Whether a round sends the first packet of each block, then the second of each, and so on;
    // otherwise block by block.
    bool mixed = false;
};

// The partners of all ranks at each step of a plan, in physical ids.
class Partners {
public:
    Partners(const Parameters& parameters, const DirectPlan& plan);

    [[nodiscard]] Rank steps() const noexcept { return steps_; }
    [[nodiscard]] std::optional<Rank> target(Rank rank, Rank step) const noexcept;
    [[nodiscard]] std::optional<Rank> source(Rank rank, Rank step) const noexcept;
    // At which of its steps the source sends what `rank` receives at this one.
    [[nodiscard]] Rank sent_at(Rank source, Rank rank, Rank step) const noexcept;

private:
    Rank ranks_;
    std::optional<Permutation> permutation_;
    std::optional<Hierarchy> remapped_;
    Rank steps_;
};

class DirectSchedule final : public Schedule {
public:
    // Parameters as they pass check().
    DirectSchedule(const Parameters& parameters, const DirectPlan& plan);

    [[nodiscard]] const Parameters& parameters() const override { return parameters_; }
    [[nodiscard]] const Layout& layout() const override { return layout_; }
    [[nodiscard]] Claims claims() const override;
    [[nodiscard]] std::unique_ptr<Steps> steps(Rank rank) const override;
    [[nodiscard]] std::int64_t window() const override { return parameters_.window; }

    [[nodiscard]] const Partners& partners() const noexcept { return partners_; }
    [[nodiscard]] bool mixed() const noexcept { return plan_.mixed; }
    [[nodiscard]] bool equal_blocks() const noexcept { return parameters_.sizes.empty(); }
    [[nodiscard]] bool divided() const noexcept { return parameters_.segment_bytes > 0; }
    // Packets of the largest block that anybody sends.
    [[nodiscard]] std::int32_t most_packets() const noexcept { return most_packets_; }
    // Steps of a round, but for the last.
    [[nodiscard]] Rank round_steps() const noexcept { return round_steps_; }
    [[nodiscard]] Rank rounds() const noexcept;
    // The packets that a rank sends or receives at a step, whichever are more.
    [[nodiscard]] std::int32_t packets(Rank rank, Rank step) const;

private:
    [[nodiscard]] bool any_block_empty() const;
    [[nodiscard]] std::optional<std::int64_t> most_stalls() const;
    [[nodiscard]] bool contention_free_switches() const;
    [[nodiscard]] bool changing_switches() const;
    void claim_volume(Claims& claims) const;

    Parameters parameters_;
    DirectPlan plan_;
    Layout layout_;
    Partners partners_;
    Rank round_steps_;
    std::int32_t most_packets_;
};

} // namespace sonde::schedule
