#include "transport/libfabric/leftovers.hpp"

#include <signal.h> // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace sonde {
namespace {

constexpr unsigned is_exiting = 0x4; // PF_EXITING of the kernel: set before files are closed

// One that is on its way out, or that nobody has waited for yet, is gone, too.
bool is_gone(int process) {
    if (::kill(process, 0) != 0) {
        return errno == ESRCH;
    }
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(") ");
    if (name_end == std::string::npos) {
        return false;
    }
    std::istringstream fields(line.substr(name_end + 2));
    std::string state;
    std::array<long, 5> others{}; // parent, group, session, terminal and its group
    unsigned flags = 0;
    fields >> state;
    for (long& other : others) {
        fields >> other;
    }
    fields >> flags;
    return state == "Z" || state == "X" || (flags & is_exiting) != 0;
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

bool is_shared_memory(std::string_view name) { return !memory_of(name).empty(); }

void remove_shared_memory(std::string_view name) noexcept {
    try {
        if (is_shared_memory(name)) {
            ::shm_unlink(std::string(memory_of(name)).c_str());
        }
    } catch (...) { // no memory for a name: the file stays
    }
}

void remove_shared_memory_of(std::string_view name) noexcept {
    const std::string_view memory = memory_of(name);
    const char* const end = memory.data() + memory.size();
    int process = 0;
    const auto [stop, error] = std::from_chars(memory.data(), end, process);
    if (error == std::errc{} && stop != end && *stop == ':' && process > 0 && is_gone(process)) {
        remove_shared_memory(name);
    }
}

} // namespace sonde
