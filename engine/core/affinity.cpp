#include "core/affinity.hpp"

#include <sched.h>

#include "core/failure.hpp"

namespace sonde {

void pin_to_cpu(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        throw Failure("bad_request", "CPU " + std::to_string(cpu) + " does not exist here");
    }
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw system_failure("run on CPU " + std::to_string(cpu) +
                             " (allowed here: " + allowed_cpus() + ")");
    }
}

PinnedTo::PinnedTo(std::optional<int> cpu) {
    if (!cpu) {
        return;
    }
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) {
        throw system_failure("tell where this process may run");
    }
    pin_to_cpu(*cpu);
    pinned_ = true;
}

PinnedTo::~PinnedTo() {
    if (pinned_) {
        sched_setaffinity(0, sizeof before_, &before_);
    }
}

int current_cpu() noexcept { return sched_getcpu(); }

std::string allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return "unknown";
    }
    std::string list;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) {
            continue;
        }
        std::size_t last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) {
            ++last;
        }
        if (!list.empty()) {
            list += ',';
        }
        list += std::to_string(cpu);
        if (last > cpu) {
            list += '-';
            list += std::to_string(last);
        }
        cpu = last;
    }
    return list;
}

} // namespace sonde
