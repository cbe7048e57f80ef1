#include "tuned/own_interface.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::tuned {

namespace {

#if defined(MPI_ABI_VERSION)
constexpr std::string_view compiled_for = "the MPI 5 standard ABI";
#elif defined(OMPI_MAJOR_VERSION)
constexpr std::string_view compiled_for = "Open MPI";
#else
constexpr std::string_view compiled_for = "MPICH's own interface";
#endif

constexpr const char* preload_variable = "LD_PRELOAD";
constexpr std::string_view between_libraries = ": ";

// Of a library that answers MPI's calls, as it is loaded.
std::string_view interface_of(const std::string& path) {
    if (std::string_view(path).substr(path.rfind('/') + 1).starts_with("libmpi_abi")) {
        return "the MPI 5 standard ABI";
    }
    void* const loaded = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    const bool is_open_mpi = loaded != nullptr && ::dlsym(loaded, "ompi_mpi_comm_world") != nullptr;
    if (loaded != nullptr) {
        ::dlclose(loaded);
    }
    return is_open_mpi ? "Open MPI" : "MPICH's own interface";
}

std::string path_of(const void* address) {
    Dl_info found{};
    return ::dladdr(address, &found) != 0 && found.dli_fname != nullptr ? found.dli_fname : "";
}

// LD_PRELOAD without this library.
std::string others_of(std::string_view list, std::string_view own) {
    std::string kept;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find_first_of(between_libraries), list.size());
        const std::string_view each = list.substr(0, end);
        if (!each.empty() && each != own) {
            kept.append(kept.empty() ? "" : ":").append(each);
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return kept;
}

std::vector<std::string> own_command() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
        words.emplace_back(text.c_str() + at);
    }
    return words;
}

void start_without(const std::string& others) {
    std::vector<std::string> words = own_command();
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    if (others.empty()) {
        ::unsetenv(preload_variable);
    } else {
        ::setenv(preload_variable, others.c_str(), 1);
    }
    if (words.empty()) {
        return;
    }
    ::execv("/proc/self/exe", arguments.data());
}

// Whether this is rank 0 by what its launcher says; MPI cannot be asked.
bool is_first() {
    for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
        if (const char* rank = std::getenv(variable); rank != nullptr) {
            return std::string_view(rank) == "0";
        }
    }
    return true;
}

void leave() {
    const std::string answers = path_of(::dlsym(RTLD_NEXT, "PMPI_Comm_rank"));
    const char* const list = std::getenv(preload_variable);
    if (answers.empty() || list == nullptr) {
        return;
    }
    const std::string_view theirs = interface_of(answers);
    const std::string own = path_of(reinterpret_cast<const void*>(&leave_other_interface));
    const std::string others = others_of(list, own);
    if (theirs == compiled_for || others == list) {
        return;
    }
    if (is_first()) {
        // Streams of C++ may not be there yet.
        const std::string sentence = "netsonde: the rules are not followed: " + own +
                                     " is made for " + std::string(compiled_for) +
                                     ", and the program has " + std::string(theirs) + " (" +
                                     answers + "); name the program to netsonde tune library\n";
        static_cast<void>(!::write(STDERR_FILENO, sentence.data(), sentence.size()));
    }
    start_without(others);
}

// As the library is loaded.
[[gnu::constructor]] void look_at_interface() { leave_other_interface(); }

} // namespace

void leave_other_interface() noexcept {
    try {
        leave();
    } catch (const std::exception&) { // then it stays, and its calls pass on
    }
}

} // namespace sonde::tuned
