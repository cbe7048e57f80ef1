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

} // namespace

bool may_be_here(std::string_view name) {
    const std::string_view memory = memory_of(name);
    return memory.empty() || ::access(("/dev/shm/" + std::string(memory)).c_str(), F_OK) == 0;
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
        if (process > 0 && is_gone(process)) {
            ::shm_unlink(std::string(name).c_str());
        }
    } catch (...) { // no memory for a name: the file stays
    }
}

} // namespace sonde
