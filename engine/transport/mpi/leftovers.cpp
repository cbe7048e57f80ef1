#include "transport/mpi/leftovers.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

namespace sonde::mpi {
namespace {

// MPICH and its relatives; Open MPI 4; Open MPI 5.
constexpr std::array<std::string_view, 3> segment_prefixes{"mpich_shm_", "vader_segment.",
                                                           "sm_segment."};

std::vector<std::string> names_in(const std::string& folder) {
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> entries(::opendir(folder.c_str()), close);
    std::vector<std::string> names;
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        names.emplace_back(entry->d_name);
    }
    return names;
}

bool is_of_an_mpi(std::string_view name) {
    return std::any_of(segment_prefixes.begin(), segment_prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Adds what a process has mapped in a folder (proc_pid_maps(5)): the path is the last field.
void add_mapped(const std::string& process, const std::string& folder,
                std::set<std::string>& found) {
    std::ifstream file("/proc/" + process + "/maps");
    for (std::string line; std::getline(file, line);) {
        const std::size_t path = line.find(" /");
        if (path != std::string::npos && line.compare(path + 1, folder.size(), folder) == 0) {
            found.insert(line.substr(path + 1));
        }
    }
}

std::vector<std::string> leftovers(const std::string& folder, std::chrono::seconds oldest) {
    std::vector<std::string> found;
    for (const std::string& name : names_in(folder)) {
        struct stat facts {};
        const std::string path = folder + "/" + name;
        if (is_of_an_mpi(name) && ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
            facts.st_uid == ::geteuid() && ::time(nullptr) - facts.st_mtime >= oldest.count()) {
            found.push_back(path);
        }
    }
    return found;
}

} // namespace

std::vector<std::string> mapped_files(const std::string& folder) {
    std::set<std::string> found;
    add_mapped("self", folder + "/", found);
    return {found.begin(), found.end()};
}

void remove_leftovers(const std::string& folder, std::chrono::seconds oldest) {
    const std::vector<std::string> candidates = leftovers(folder, oldest);
    if (candidates.empty()) {
        return;
    }
    std::set<std::string> mapped;
    for (const std::string& name : names_in("/proc")) {
        if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
            add_mapped(name, folder + "/", mapped);
        }
    }
    for (const std::string& path : candidates) {
        if (!mapped.contains(path)) {
            ::unlink(path.c_str()); // one that another rank has removed before is no harm
        }
    }
}

} // namespace sonde::mpi
