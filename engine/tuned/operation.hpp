// The collective operations that rules choose for, a row each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schedule/schedule.hpp"

namespace sonde::tuned {

enum class Operation : std::uint8_t {
    barrier,
    bcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter_block,
    reduce_scatter
};

// What a rank knows of the sizes of all parts by its own arguments.
enum class Known : std::uint8_t {
    all,
    own // what it sends and receives itself
};

struct OperationRow {
    std::string_view name; // netsonde's, of all of the operation's forms
    schedule::Family family;
    bool is_uneven = false; // a part of its own size for each rank, or each pair
    Known known = Known::all;
};

// In the order of the enumeration.
constexpr std::array operation_rows{
    OperationRow{"barrier", schedule::Family::barrier},
    OperationRow{"bcast", schedule::Family::broadcast},
    OperationRow{"gather", schedule::Family::gather},
    OperationRow{"gatherv", schedule::Family::gather, true, Known::own},
    OperationRow{"scatter", schedule::Family::scatter},
    OperationRow{"scatterv", schedule::Family::scatter, true, Known::own},
    OperationRow{"allgather", schedule::Family::allgather},
    OperationRow{"allgatherv", schedule::Family::allgather, true},
    OperationRow{"alltoall", schedule::Family::alltoall},
    OperationRow{"alltoallv", schedule::Family::alltoall, true, Known::own},
    OperationRow{"alltoallw", schedule::Family::alltoall, true, Known::own},
    OperationRow{"reduce", schedule::Family::reduce},
    OperationRow{"allreduce", schedule::Family::allreduce},
    OperationRow{"reduce_scatter_block", schedule::Family::reduce_scatter},
    OperationRow{"reduce_scatter", schedule::Family::reduce_scatter, true}};

constexpr std::size_t operation_count = operation_rows.size();

[[nodiscard]] constexpr const OperationRow& row_of(Operation operation) {
    return operation_rows[static_cast<std::size_t>(operation)];
}

[[nodiscard]] constexpr std::optional<Operation> find_operation(std::string_view name) {
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (operation_rows[i].name == name) {
            return static_cast<Operation>(i);
        }
    }
    return std::nullopt;
}

} // namespace sonde::tuned
