#include "schedule/alltoall_hierarchy.hpp"

#include <algorithm>
#include <ranges>
#include <string>

#include "core/failure.hpp"

namespace sonde::schedule {

namespace {

std::optional<Rank> back_to_physical(const Hierarchy& hierarchy,
                                     std::optional<Rank> logical) noexcept {
    if (!logical) {
        return logical;
    }
    return hierarchy.physical(*logical);
}

// The switch that all hosts of a switch send to at a step, if it is one.
std::optional<Rank> common_target(const Route& route, const Hierarchy& hierarchy, std::size_t level,
                                  Rank sending_switch, Rank step) {
    const Rank hosts = hierarchy.hosts_below(level);
    std::optional<Rank> common;
    for (Rank rank = sending_switch * hosts; rank < (sending_switch + 1) * hosts; ++rank) {
        const auto target = target_at(route, hierarchy, rank, step);
        if (!target) {
            return std::nullopt;
        }
        const Rank now = hierarchy.switch_of(*target, level);
        if (common.value_or(now) != now) {
            return std::nullopt;
        }
        common = now;
    }
    return common;
}

// Whether each switch has one target. As no two hosts send to one, and all switches are as large,
// no two switches then have the same.
bool permutes_switches(const Route& route, const Hierarchy& hierarchy, std::size_t level,
                       Rank step) {
    const Rank switches = hierarchy.ranks() / hierarchy.hosts_below(level);
    for (Rank sending = 0; sending < switches; ++sending) {
        if (!common_target(route, hierarchy, level, sending, step)) {
            return false;
        }
    }
    return true;
}

// Adds what one host does.
void follow_host(const Route& route, const Hierarchy& hierarchy, std::size_t level, Rank rank,
                 SwitchTargets& found) {
    const Rank steps = permutation_steps(route.permutation, hierarchy.ranks());
    Rank last = -1;
    Rank run = 0;
    for (Rank step = 1; step <= steps; ++step) {
        const auto target = target_at(route, hierarchy, rank, step);
        if (!target) {
            continue;
        }
        const Rank now = hierarchy.switch_of(*target, level);
        found.repeats += now == last ? 1 : 0;
        run = now == last ? run + 1 : 1;
        last = now;
        found.longest_run = std::max(found.longest_run, run);
    }
}

// arrivals[switch * steps + step - 1]: packets that come from below other switches.
std::vector<std::int64_t> remote_arrivals(const Route& route, const Hierarchy& hierarchy,
                                          std::size_t level) {
    const Rank steps = permutation_steps(route.permutation, hierarchy.ranks());
    const Rank switches = hierarchy.ranks() / hierarchy.hosts_below(level);
    std::vector<std::int64_t> arrivals(static_cast<std::size_t>(switches) *
                                       static_cast<std::size_t>(steps));
    for (Rank rank = 0; rank < hierarchy.ranks(); ++rank) {
        for (Rank step = 1; step <= steps; ++step) {
            const auto target = target_at(route, hierarchy, rank, step);
            if (!target) {
                continue;
            }
            const Rank at = hierarchy.switch_of(*target, level);
            if (at != hierarchy.switch_of(rank, level)) {
                ++arrivals[static_cast<std::size_t>(at) * static_cast<std::size_t>(steps) +
                           static_cast<std::size_t>(step - 1)];
            }
        }
    }
    return arrivals;
}

// The largest sum of `window` neighbours in `passes` copies of the counts, one behind the other.
std::int64_t busiest_stretch(std::span<const std::int64_t> counts, std::int64_t window,
                             std::int64_t passes) {
    const auto steps = static_cast<std::int64_t>(counts.size());
    const auto count = [&](std::int64_t at) {
        return counts[static_cast<std::size_t>(at % steps)];
    };
    std::int64_t sum = 0;
    std::int64_t most = 0;
    // What begins later than in the first copy repeats what began there.
    const std::int64_t end = std::min(passes * steps, window + steps);
    for (std::int64_t at = 0; at < end; ++at) {
        sum += count(at) - (at >= window ? count(at - window) : 0);
        most = std::max(most, sum);
    }
    return most;
}

void check_bottleneck(Rank ranks, const Bottleneck& bottleneck) {
    if (ranks < 1 || ranks > most_ranks || bottleneck.hosts_below < 1 || bottleneck.links < 1 ||
        bottleneck.links > ranks / bottleneck.hosts_below) {
        throw Failure("bad_request", "a bottleneck of " + std::to_string(bottleneck.links) +
                                         " links with " + std::to_string(bottleneck.hosts_below) +
                                         " hosts below each, of " + std::to_string(ranks) +
                                         " ranks; expected at least one link and one " +
                                         "host, in all as many hosts as ranks or fewer, and " +
                                         std::to_string(most_ranks) + " ranks at most");
    }
    if (bottleneck.buffer_packets < 1 || bottleneck.buffer_packets > most_buffer_packets) {
        throw Failure("bad_request", "a buffer of " + std::to_string(bottleneck.buffer_packets) +
                                         " packets; expected 1 to " +
                                         std::to_string(most_buffer_packets));
    }
}

} // namespace

Hierarchy::Hierarchy(std::span<const Rank> degrees)
    : degrees_(degrees.begin(), degrees.end()), hosts_below_{1} {
    if (degrees_.empty() || degrees_.size() > most_levels) {
        throw Failure("bad_request", "a hierarchy of " + std::to_string(degrees_.size()) +
                                         " levels; expected 1 to " + std::to_string(most_levels) +
                                         ": the hosts of a leaf switch, the leaf switches of a "
                                         "switch above them, and so on");
    }
    for (const Rank degree : degrees_) {
        if (degree < 1 || degree > most_ranks / hosts_below_.back()) {
            throw Failure("bad_request", "a hierarchy with " + std::to_string(degree) +
                                             " below a switch; expected 1 or more, and " +
                                             std::to_string(most_ranks) + " hosts at most in all");
        }
        hosts_below_.push_back(hosts_below_.back() * degree);
    }
}

Rank Hierarchy::logical(Rank physical) const noexcept {
    Rank result = 0;
    for (const Rank degree : degrees_) {
        result = result * degree + physical % degree;
        physical /= degree;
    }
    return result;
}

Rank Hierarchy::physical(Rank logical) const noexcept {
    Rank result = 0;
    for (const Rank degree : std::views::reverse(degrees_)) {
        result = result * degree + logical % degree;
        logical /= degree;
    }
    return result;
}

std::optional<Rank> target_at(const Route& route, const Hierarchy& hierarchy, Rank rank,
                              Rank step) noexcept {
    if (!route.remap) {
        return target_at(route.permutation, hierarchy.ranks(), rank, step);
    }
    return back_to_physical(
        hierarchy, target_at(route.permutation, hierarchy.ranks(), hierarchy.logical(rank), step));
}

std::optional<Rank> source_at(const Route& route, const Hierarchy& hierarchy, Rank rank,
                              Rank step) noexcept {
    if (!route.remap) {
        return source_at(route.permutation, hierarchy.ranks(), rank, step);
    }
    return back_to_physical(
        hierarchy, source_at(route.permutation, hierarchy.ranks(), hierarchy.logical(rank), step));
}

double uplink_packets_per_step(Rank ranks, Rank hosts_below) noexcept {
    if (ranks < 2) {
        return 0.0;
    }
    return static_cast<double>(ranks - hosts_below) * static_cast<double>(hosts_below) /
           static_cast<double>(ranks - 1);
}

std::optional<std::int64_t> global_window(Rank ranks, const Bottleneck& bottleneck) {
    check_bottleneck(ranks, bottleneck);
    const std::int64_t below = bottleneck.hosts_below;
    // In whole numbers, so that a quotient that is one is not rounded below itself.
    const std::int64_t in_all_steps =
        (ranks - below) * below * bottleneck.links * (bottleneck.control_traffic ? 2 : 1);
    if (in_all_steps == 0) {
        return std::nullopt;
    }
    return bottleneck.buffer_packets * (ranks - 1) / in_all_steps;
}

std::optional<NarrowestWindow> narrowest_window(Rank ranks,
                                                std::span<const Bottleneck> bottlenecks) {
    std::optional<NarrowestWindow> least;
    for (std::size_t place = 0; place < bottlenecks.size(); ++place) {
        const auto window = global_window(ranks, bottlenecks[place]);
        if (window && (!least || *window < least->packets)) {
            least = {.packets = *window, .bottleneck = place};
        }
    }
    return least;
}

SwitchTargets switch_targets(const Route& route, const Hierarchy& hierarchy, std::size_t level) {
    SwitchTargets found;
    const Rank steps = permutation_steps(route.permutation, hierarchy.ranks());
    for (Rank step = 1; step <= steps; ++step) {
        found.permutation_steps += permutes_switches(route, hierarchy, level, step) ? 1 : 0;
    }
    for (Rank rank = 0; rank < hierarchy.ranks(); ++rank) {
        follow_host(route, hierarchy, level, rank, found);
    }
    return found;
}

std::int64_t most_towards_switch(const Route& route, const Hierarchy& hierarchy, std::size_t level,
                                 std::int64_t window, std::int64_t passes) {
    const auto steps =
        static_cast<std::size_t>(permutation_steps(route.permutation, hierarchy.ranks()));
    const auto arrivals = remote_arrivals(route, hierarchy, level);
    std::int64_t most = 0;
    for (std::size_t first = 0; first < arrivals.size(); first += steps) {
        most = std::max(most,
                        busiest_stretch(std::span(arrivals).subspan(first, steps), window, passes));
    }
    return most;
}

} // namespace sonde::schedule
