#include "simulator/flows.hpp"

#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde::simulator {

namespace {

constexpr std::size_t least_slots = 8;
constexpr std::uint64_t hash_entry_bytes = 48; // what one entry of the table takes, about

} // namespace

// Slots grow by doubling: most flows of a complete exchange never have many packets under way.
Slot& Flow::add_slot(std::uint32_t sequence) {
    if (sequence - base >= slots.size()) {
        std::vector<Slot> more(slots.empty() ? least_slots : 2 * slots.size());
        for (std::uint32_t i = base; i != sequence; ++i) {
            more[i & (more.size() - 1)] = slot(i);
        }
        slots = std::move(more);
    }
    Slot& added = slot(sequence);
    added = Slot{};
    return added;
}

std::uint32_t Flows::find(std::uint32_t source, std::uint32_t target) {
    const std::uint64_t key = std::uint64_t{source} << 32U | target;
    const auto [at, made] = numbers_.try_emplace(key, static_cast<std::uint32_t>(flows_.size()));
    if (made) {
        if (flows_.size() * (sizeof(Flow) + hash_entry_bytes) > most_bytes_) {
            throw Failure("limit", "the simulation needs more than limits.memory_bytes for " +
                                       std::to_string(flows_.size()) + " pairs of hosts");
        }
        flows_.emplace_back(source, target);
    }
    return at->second;
}

std::uint32_t Flows::reverse_of(std::uint32_t flow) {
    Flow& forward = flows_[flow];
    if (forward.reverse == none) {
        forward.reverse = find(forward.target, forward.source);
        flows_[forward.reverse].reverse = flow;
    }
    return forward.reverse;
}

} // namespace sonde::simulator
