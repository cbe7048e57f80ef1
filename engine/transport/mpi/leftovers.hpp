// Shared memory of MPI programs that were killed, which stays until somebody removes it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sonde::mpi {

// The files in a folder of shared memory that this process has mapped: its MPI made them.
[[nodiscard]] std::vector<std::string> mapped_files(const std::string& folder);

// Removes files by the names that MPIs give theirs, of this user, unchanged for so long, that no
// process has mapped.
void remove_leftovers(const std::string& folder, std::chrono::seconds oldest);

} // namespace sonde::mpi
