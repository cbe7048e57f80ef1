// Whether the program's MPI has the binary interface that this library was compiled for.
#pragma once

namespace sonde::tuned {

// Where it has another, no handle of the program means anything here, and one may not even fit. So
// says it and starts the program again without the library. For the time when the library is
// loaded, before the program's main(); returns where there is nothing to do, or no way.
void leave_other_interface() noexcept;

} // namespace sonde::tuned
