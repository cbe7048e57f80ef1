// What the libraries below MPI, libfabric and UCX, made of the variables that were set for them:
// asked of the libraries themselves, where the process has them mapped.
#pragma once

#include "transport/mpi/variables.hpp"

#include <span>
#include <string>
#include <vector>

namespace sonde::mpi {

// Of those among the names that such a library can be asked for. Its value is told only where MPI
// surely moves data through that library: an MPI may have both and use neither. In words that are
// no value ("its default, ...") where the library does not take what is set.
// has_netmod: this MPI is an MPICH that chooses between the libraries by MPIR_CVAR_CH4_NETMOD.
[[nodiscard]] std::vector<LibraryVariable> fabric_variables(std::span<const std::string> names,
                                                            bool has_netmod);

// What libfabric makes of a text: of a truth 1 or 0, of a number that number.
enum class FabricKind : int { text, whole, truth, size };
[[nodiscard]] std::string as_libfabric_reads(FabricKind kind, const std::string& text);

} // namespace sonde::mpi
