#include "tuned/ways.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

#include "tuned/calls.hpp"

namespace sonde::tuned {

namespace {

constexpr std::array<std::string_view, passed_count> reasons{
    "no rule for it",          "as the rule says",           "ranks of two groups or programs",
    "rare arguments",          "operation does not commute", "operation of the program",
    "not MPI_THREAD_MULTIPLE", "before a blocking call",     "sizes known to no rank"};

std::string name_of(std::size_t operation, std::size_t form) {
    const std::string name(operation_rows[operation].name);
    switch (static_cast<Form>(form)) {
    case Form::started:
        return "i" + name;
    case Form::persistent:
        return name + "_init";
    case Form::blocking:
        break;
    }
    return name;
}

} // namespace

Ways::Ways(const std::vector<Rule>& rules) : first_(rules.data()) {
    for (const Rule& rule : rules) {
        const auto found = std::find(algorithms_.begin(), algorithms_.end(), rule.algorithm);
        of_rules_.push_back(static_cast<std::size_t>(found - algorithms_.begin()));
        if (found == algorithms_.end()) {
            algorithms_.push_back(rule.algorithm);
        }
    }
    ways_ = passed_count + algorithms_.size();
    size_ = operation_count * form_count * ways_;
    counts_ = std::make_unique<std::atomic<std::uint64_t>[]>(size_);
}

void Ways::ran(Operation operation, Form form, const Rule& rule) noexcept {
    add(operation, form, passed_count + of_rules_[static_cast<std::size_t>(&rule - first_)]);
}

std::string Ways::table(MPI_Comm world, int rank) const {
    std::vector<std::uint64_t> own(size_);
    for (std::size_t i = 0; i < size_; ++i) {
        own[i] = counts_[i].load(std::memory_order_relaxed);
    }
    std::vector<std::uint64_t> all(size_);
    require(PMPI_Reduce(own.data(), all.data(), static_cast<int>(size_), MPI_UINT64_T, MPI_SUM, 0,
                        world));
    if (rank != 0) {
        return {};
    }
    std::ostringstream text;
    text << "netsonde: calls of all ranks by the rules\n";
    for (std::size_t i = 0; i < size_; ++i) {
        if (all[i] == 0) {
            continue;
        }
        const std::size_t way = i % ways_;
        const std::size_t row = i / ways_;
        const std::string taken = way < passed_count ? "native (" + std::string(reasons[way]) + ")"
                                                     : algorithms_[way - passed_count];
        text << "  " << std::left << std::setw(24) << name_of(row / form_count, row % form_count)
             << std::setw(44) << taken << ' ' << std::right << std::setw(9) << all[i] << '\n';
    }
    return text.str();
}

} // namespace sonde::tuned
