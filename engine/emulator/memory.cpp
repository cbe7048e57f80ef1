#include "emulator/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "core/failure.hpp"

namespace sonde {

namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t others_bytes = 64 * mebibyte; // stacks of threads, the control's requests
constexpr std::int64_t least_bytes = 8 * mebibyte;

// What the process may still map; the largest number where nothing limits it.
std::int64_t left_of_limit_bytes() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return std::numeric_limits<std::int64_t>::max();
    }
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return static_cast<std::int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE);
}

std::int64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::string unit;
    std::int64_t kib = 0;
    while (file >> name >> kib) {
        std::getline(file, unit);
        if (name == "MemAvailable:") {
            return kib * 1024;
        }
    }
    return std::numeric_limits<std::int64_t>::max();
}

} // namespace

std::int64_t frame_memory_bytes(std::int64_t wanted) {
    const std::int64_t left = std::min(left_of_limit_bytes(), available_bytes());
    const std::int64_t allowed = std::min(wanted, (left - others_bytes) / 2);
    if (allowed < std::min(least_bytes, wanted)) {
        throw Failure("system", "there is memory for " +
                                    std::to_string(std::max<std::int64_t>(left, 0) / mebibyte) +
                                    " MiB more, and the switch needs " +
                                    std::to_string((others_bytes + 2 * least_bytes) / mebibyte) +
                                    "; raise the limit (ulimit -v) or end other programs");
    }
    return allowed;
}

} // namespace sonde
