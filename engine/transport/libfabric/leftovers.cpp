#include "transport/libfabric/leftovers.hpp"

#include <signal.h> // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>

namespace sonde {
namespace {

// One that nobody has waited for yet is gone, too.
bool is_gone(int process) {
    if (::kill(process, 0) != 0) {
        return errno == ESRCH;
    }
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end != std::string::npos && line.substr(name_end + 2, 1) == "Z";
}

// Of "fi_shm://PID:USER:NUMBER" what comes behind the slashes, which is the memory's name as well;
// empty where it is no such name.
std::string_view memory_of(std::string_view name) {
    constexpr std::string_view scheme = "fi_shm://";
    if (!name.starts_with(scheme)) {
        return {};
    }
    name.remove_prefix(scheme.size());
    name = name.substr(0, name.find('\0'));
    return name.find('/') == std::string_view::npos ? name : std::string_view{};
}

bool is_there(const std::string& memory) {
    return ::access(("/dev/shm/" + memory).c_str(), F_OK) == 0;
}

constexpr int most_looks = 50;
constexpr useconds_t between_looks_us = 2'000;

} // namespace

bool may_be_here(std::string_view name) {
    const std::string memory(memory_of(name));
    return memory.empty() || is_there(memory);
}

void remove_shared_memory_of(std::string_view name) noexcept {
    name = memory_of(name);
    int process = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    const bool is_numbered = error == std::errc{} && stop != name.data() + name.size();
    if (!is_numbered || *stop != ':') {
        return;
    }
    try {
        const std::string memory(name);
        // Who is being killed closes its connections before it is gone, and who ends by itself
        // removes its memory just now.
        for (int look = 0; process > 0 && look < most_looks && is_there(memory); ++look) {
            if (is_gone(process)) {
                ::shm_unlink(memory.c_str());
                return;
            }
            ::usleep(between_looks_us);
        }
    } catch (...) { // no memory for a name: the file stays
    }
}

} // namespace sonde
