// Functions that make persistent operations, by the name of the operation. They came with MPI 4;
// some libraries of version 3.1 have them as extensions, and the others not at all.
#pragma once

#include <string>
#include <string_view>

namespace sonde::collective {

// "bcast" -> "MPI_Bcast_init".
[[nodiscard]] std::string persistent_name(std::string_view operation);

// MPI's function of that name in the library that this program runs with, else the extension of an
// earlier one (MPIX_...), else null.
[[nodiscard]] void* find_persistent(std::string_view operation);

} // namespace sonde::collective
