#include "transport/pvm/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/failure.hpp"

namespace sonde::pvm {
namespace {

constexpr std::array<std::string_view, 3> kept{"PVM_ROOT", "PVM_ARCH", "PVM_DPATH"};
constexpr std::array<const char*, 4> usual_roots{"/usr/lib/pvm3", "/usr/share/pvm3",
                                                 "/usr/local/lib/pvm3", "/opt/pvm3"};

bool is_kept(std::string_view name) { return std::ranges::count(kept, name) != 0; }

} // namespace

// NOLINTBEGIN(concurrency-mt-unsafe): there is no other thread yet, or none that looks at them
void forget_environment() {
    std::vector<std::string> names;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view entry(*one);
        const std::string_view name = entry.substr(0, entry.find('='));
        if (name.starts_with("PVM") && !is_kept(name)) {
            names.emplace_back(name);
        }
    }
    for (const std::string& name : names) {
        ::unsetenv(name.c_str());
    }
    ::setenv("PVM_ALLOW_ROOT", "1", 1);
}

void use_folder(const std::string& folder) { ::setenv("PVM_TMP", folder.c_str(), 1); }

std::string find_daemon() {
    std::vector<std::string> roots;
    if (const char* named = std::getenv("PVM_ROOT")) {
        roots.emplace_back(named);
    }
    roots.insert(roots.end(), usual_roots.begin(), usual_roots.end());
    for (const std::string& root : roots) {
        std::string daemon = root + "/lib/pvmd";
        if (::access(daemon.c_str(), X_OK) == 0) {
            ::setenv("PVM_ROOT", root.c_str(), 1);
            return daemon;
        }
    }
    throw Failure("unsupported", "there is no PVM on this host: its daemon, lib/pvmd, is neither "
                                 "below PVM_ROOT nor in /usr/lib/pvm3; install it (Debian: pvm)");
}
// NOLINTEND(concurrency-mt-unsafe)

} // namespace sonde::pvm
