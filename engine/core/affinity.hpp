// Where this process may run.
#pragma once

#include <sched.h>

#include <optional>
#include <string>

namespace sonde {

// Pins the calling thread to one CPU. Throws Failure("system") naming it.
void pin_to_cpu(int cpu);

// The calling thread runs on one CPU while this lives, or where it may where there is none.
class PinnedTo {
public:
    explicit PinnedTo(std::optional<int> cpu);
    ~PinnedTo();
    PinnedTo(const PinnedTo&) = delete;
    PinnedTo& operator=(const PinnedTo&) = delete;

private:
    bool pinned_ = false;
    cpu_set_t before_{};
};

[[nodiscard]] int current_cpu() noexcept;
// The allowed CPUs as a list, e.g. "0-3,8".
[[nodiscard]] std::string allowed_cpus();

} // namespace sonde
