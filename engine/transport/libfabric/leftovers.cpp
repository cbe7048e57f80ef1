#include "transport/libfabric/leftovers.hpp"

#include <signal.h> // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>

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

} // namespace

// "fi_shm://PID:USER:NUMBER", of which what comes behind the slashes is the memory's name as well.
void remove_shared_memory_of(std::string_view name) noexcept {
    constexpr std::string_view scheme = "fi_shm://";
    if (!name.starts_with(scheme)) {
        return;
    }
    name.remove_prefix(scheme.size());
    name = name.substr(0, name.find('\0'));
    int process = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    const bool is_numbered = error == std::errc{} && stop != name.data() + name.size();
    if (!is_numbered || *stop != ':' || name.find('/') != std::string_view::npos) {
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
