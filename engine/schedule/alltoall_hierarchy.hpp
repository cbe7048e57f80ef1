// Switches in a regular tree, as a complete exchange sees them: which hosts share an uplink, how
// ids are renumbered so that targets move from switch to switch, and how many packets may be out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/alltoall_permutation.hpp"

namespace sonde::schedule {

// degrees[0] hosts at a leaf switch, degrees[1] leaf switches at a switch above them, and so on:
// {8, 4} is four switches of eight hosts. Hosts are numbered switch by switch.
class Hierarchy {
public:
    // Throws Failure("bad_request") where there are no degrees or more than most_levels, one is
    // below 1, or there are more than most_ranks hosts.
    explicit Hierarchy(std::span<const Rank> degrees);

    [[nodiscard]] Rank ranks() const noexcept { return hosts_below_.back(); }
    // Levels of switches. Level 0 are the hosts, level 1 the leaf switches; the root is the last.
    [[nodiscard]] std::size_t levels() const noexcept { return degrees_.size(); }
    // Hosts below one switch of a level: 1, d_1, d_1 d_2, ...
    [[nodiscard]] Rank hosts_below(std::size_t level) const noexcept { return hosts_below_[level]; }
    [[nodiscard]] Rank switch_of(Rank rank, std::size_t level) const noexcept {
        return rank / hosts_below_[level];
    }

    // Contention-aware ids. Two levels: Eq. (6.3), logical = floor(physical / d_1) +
    // (physical mod d_1) d_2. In general the digits of the id, a host's place at each level, are
    // read backwards, so that consecutive logical ids are at different switches of every level.
    [[nodiscard]] Rank logical(Rank physical) const noexcept;
    [[nodiscard]] Rank physical(Rank logical) const noexcept;

private:
    std::vector<Rank> degrees_;
    std::vector<Rank> hosts_below_; // one more than degrees
};

// A permutation over the hosts of a hierarchy: with `remap`, over their contention-aware ids.
struct Route {
    Permutation permutation = Permutation::shift;
    bool remap = false;
};
// Both take and give physical ids.
[[nodiscard]] std::optional<Rank> target_at(const Route& route, const Hierarchy& hierarchy,
                                            Rank rank, Rank step) noexcept;
[[nodiscard]] std::optional<Rank> source_at(const Route& route, const Hierarchy& hierarchy,
                                            Rank rank, Rank step) noexcept;

// Eq. (6.1), nu: packets that go up the link above `hosts_below` hosts in each step of a shuffle in
// which all ranks keep step; the mean over the steps. 1 for a host's own port.
[[nodiscard]] double uplink_packets_per_step(Rank ranks, Rank hosts_below) noexcept;

constexpr std::int64_t most_buffer_packets = 1'000'000'000;

// A buffer that an exchange may overflow.
struct Bottleneck {
    Rank hosts_below = 1; // below one link: an uplink's switch; 1: a host's port
    std::int64_t buffer_packets = 1;
    Rank links = 1; // that share the buffer, as those of a root with a common one
    // Whether each packet is answered by a packet of its own, which halves the share.
    bool control_traffic = true;
};

// Eq. (6.2), rounded down, W_g: packets that each rank may have out, to all partners together. No
// value: the link carries nothing of the exchange. 0: one packet of each rank is already too much.
// Throws Failure("bad_request") where the links have more hosts than there are, or the buffer is
// out of its limits.
[[nodiscard]] std::optional<std::int64_t> global_window(Rank ranks, const Bottleneck& bottleneck);

// The least window of several bottlenecks, such as the uplinks of each level and the root of a
// deeper tree, and which of them it is. No value: none of them carries anything.
struct NarrowestWindow {
    std::int64_t packets = 0;
    std::size_t bottleneck = 0;
};
[[nodiscard]] std::optional<NarrowestWindow>
narrowest_window(Rank ranks, std::span<const Bottleneck> bottlenecks);

// What a route does to the switches of a level.
struct SwitchTargets {
    // Steps at which all hosts of a switch send to one switch, another for each switch.
    Rank permutation_steps = 0;
    // The most consecutive packets that a host sends to the same switch; steps without a partner
    // are left out, as they send nothing in between.
    Rank longest_run = 0;
    // How often, over all hosts, a packet goes to the switch that the one before it went to.
    std::int64_t repeats = 0;
};
// Looks at each step of each host once.
[[nodiscard]] SwitchTargets switch_targets(const Route& route, const Hierarchy& hierarchy,
                                           std::size_t level);

// The most packets that head for one switch of a level, from hosts below other switches, in any
// `window` steps in a row, all ranks keeping step. A rank that hears nothing goes on for W_g steps,
// so this is what the switch's uplink buffer may be asked to hold. `passes`: packets of a block.
[[nodiscard]] std::int64_t most_towards_switch(const Route& route, const Hierarchy& hierarchy,
                                               std::size_t level, std::int64_t window,
                                               std::int64_t passes);

} // namespace sonde::schedule
