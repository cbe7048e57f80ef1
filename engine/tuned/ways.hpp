// Which way each call took, counted: by a schedule, or the library's own way, and why.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuned/operation.hpp"
#include "tuned/rules.hpp"

namespace sonde::tuned {

enum class Form : std::uint8_t { blocking, started, persistent };
constexpr std::size_t form_count = 3;

// Why a call passes on.
enum class Passed : std::uint8_t {
    no_rule,       // for this operation, these ranks, this size
    by_rule,       // which says so
    communicator,  // between two groups, or with ranks of another program
    arguments,     // rare, or wrong: MPI sees to them
    order,         // the operation does not commute, and the algorithm needs that
    own_operation, // that a program made, where its call returns before it is done
    threads,       // the call returns before it is done, and nobody may go on beside the program
    first_call,    // the same, before the library has a communicator of its own beside this one
    sizes          // the same, and no rank knows all sizes
};
constexpr std::size_t passed_count = 9;

class Ways {
public:
    explicit Ways(const std::vector<Rule>& rules);

    void passed(Operation operation, Form form, Passed why) noexcept {
        add(operation, form, static_cast<std::size_t>(why));
    }
    void ran(Operation operation, Form form, const Rule& rule) noexcept;

    // All ranks together: a table of all ranks' calls, at rank 0; nothing elsewhere.
    [[nodiscard]] std::string table(MPI_Comm world, int rank) const;

private:
    void add(Operation operation, Form form, std::size_t way) noexcept {
        counts_[place(operation, form, way)].fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t place(Operation operation, Form form,
                                    std::size_t way) const noexcept {
        const std::size_t row = static_cast<std::size_t>(operation) * form_count;
        return (row + static_cast<std::size_t>(form)) * ways_ + way;
    }

    std::vector<std::string> algorithms_; // of all rules, each once
    const Rule* first_;
    std::vector<std::size_t> of_rules_; // the place among these
    std::size_t ways_;
    std::size_t size_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
};

} // namespace sonde::tuned
