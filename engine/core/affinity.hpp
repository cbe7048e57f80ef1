// Where this process may run.
#pragma once

#include <string>

namespace sonde {

// Pins the calling thread to one processor. Throws Failure("system") naming it.
void pin_to_cpu(int cpu);
[[nodiscard]] int current_cpu() noexcept;
// The allowed processors as a list, e.g. "0-3,8".
[[nodiscard]] std::string allowed_cpus();

} // namespace sonde
