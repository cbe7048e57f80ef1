// What sonde-mpi says on standard error: the launcher reads it where a rank has ended.
#pragma once

#include <string_view>

#include "transport/mpi/job.hpp"

namespace sonde::mpi {

// A whole line, in one piece: all ranks share standard error.
void say_line(std::string_view sentence);
// What this rank says of itself.
void say(const Job& job, std::string_view message);

} // namespace sonde::mpi
