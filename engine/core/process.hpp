// What each worker's process begins with.
#pragma once

#include <string>

namespace sonde {

// As the system has it; "unknown" where it says none.
[[nodiscard]] std::string host_name();

// A descriptor on which signals that ask the process to end become readable, instead of
// interrupting anything from now on; SIGPIPE is ignored. Throws Failure("system").
[[nodiscard]] int take_ending_signals();

} // namespace sonde
