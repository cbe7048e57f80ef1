#include "simulator/flows.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde::simulator {

namespace {

constexpr std::size_t least_entries = 4;
constexpr std::uint32_t spread_targets = 0x9E5; // odd

} // namespace

Flows::Entry& Flows::place(std::vector<Entry>& entries, std::uint32_t target) noexcept {
    const auto mask = static_cast<std::uint32_t>(entries.size() - 1);
    const auto bits = static_cast<std::uint32_t>(std::countr_zero(entries.size()));
    // Equal steps between targets, of any width, do not meet in the same place.
    std::uint32_t at = target + (target >> bits) * spread_targets;
    while (entries[at & mask].number != none && entries[at & mask].target != target) {
        ++at;
    }
    return entries[at & mask];
}

void Flows::widen(Row& row) {
    std::vector<Entry> more(row.entries.empty() ? least_entries : 2 * row.entries.size());
    table_bytes_ += (more.size() - row.entries.size()) * sizeof(Entry);
    for (const Entry& entry : row.entries) {
        if (entry.number != none) {
            place(more, entry.target) = entry;
        }
    }
    row.entries = std::move(more);
}

std::uint32_t Flows::make(std::uint32_t source, std::uint32_t target) {
    if (size_ * sizeof(Flow) + table_bytes_ > most_bytes_) {
        throw Failure("limit", "the simulation needs more than limits.memory_bytes for " +
                                   std::to_string(size_) + " pairs of hosts");
    }
    if ((size_ & block_mask) == 0) {
        blocks_.push_back(std::make_unique<Block>());
    }
    const std::uint32_t number = size_++;
    (*this)[number].source = source;
    (*this)[number].target = target;
    return number;
}

std::uint32_t Flows::add(std::uint32_t source, std::uint32_t target) {
    const std::uint32_t number = make(source, target);
    Row& row = rows_[source];
    if (4 * (std::size_t{row.used} + 1) > 3 * row.entries.size()) {
        widen(row);
    }
    ++row.used;
    place(row.entries, target) = {target, number};
    return number;
}

std::uint32_t Flows::find_by_distance(std::uint32_t source, std::uint32_t target) {
    const std::uint32_t distance = target >= source ? target - source : target + hosts_ - source;
    if (by_distance_.empty()) {
        by_distance_.resize(hosts_);
    }
    std::vector<std::uint32_t>& numbers = by_distance_[distance];
    if (numbers.empty()) {
        numbers.resize(hosts_, none);
        table_bytes_ += hosts_ * sizeof(std::uint32_t);
    }
    if (numbers[source] == none) {
        numbers[source] = make(source, target);
    }
    return numbers[source];
}

std::uint32_t Flows::find(std::uint32_t source, std::uint32_t target) {
    if (hosts_ <= most_hosts_by_distance && target != none) {
        return find_by_distance(source, target);
    }
    if (source >= rows_.size()) {
        rows_.resize(std::max<std::size_t>(source + std::size_t{1}, 2 * rows_.size()));
    }
    Row& row = rows_[source];
    if (!row.entries.empty()) {
        const Entry& found = place(row.entries, target);
        if (found.number != none) {
            return found.number;
        }
    }
    return add(source, target);
}

std::uint32_t Flows::reverse_of(std::uint32_t flow) {
    Flow& forward = (*this)[flow];
    if (forward.reverse == none) {
        forward.reverse = find(forward.target, forward.source);
        (*this)[forward.reverse].reverse = flow;
    }
    return forward.reverse;
}

} // namespace sonde::simulator
