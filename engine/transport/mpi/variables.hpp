// What an MPI library made of the variables that were set for it: asked of the library itself, by
// MPI's tool information interface (MPI 4.0, chapter 15).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::mpi {

// Whether the library can be asked at all; begins its interface for that.
[[nodiscard]] bool tool_interface_begun();

// One variable of the environment. `value` is what the library reads, of an enumeration with its
// name, as `1 (basic_linear)`; empty where it cannot be read. Of one that the library does not know
// `nearest` are the names that are most like it, as the environment has them.
struct LibraryVariable {
    std::string name;
    bool known = false;
    std::string value;
    std::vector<std::string> nearest;
};

// Of those among the names that the library can be asked for; none where it has no such interface.
// Those of libfabric and UCX are asked of these.
[[nodiscard]] std::vector<LibraryVariable> library_variables(std::span<const std::string> names);

// The few of the names that are most like one.
[[nodiscard]] std::vector<std::string> most_like(std::string_view name,
                                                 std::span<const std::string> others);

// How many letters must be put in, taken out or changed to make one of the other.
[[nodiscard]] std::size_t letters_apart(std::string_view one, std::string_view other);

} // namespace sonde::mpi
