#include "transport/mpi/fabric_variables.hpp"

#include <dlfcn.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace sonde::mpi {

namespace {

// rdma/fabric.h of libfabric, ABI FABRIC_1.0: struct fi_param, fi_getparams(), fi_freeparams().
struct FabricParameter {
    const char* name;
    FabricKind kind;
    const char* help;
    const char* value; // null where nothing sets it
};
using GetParameters = int (*)(FabricParameter**, int*);
using FreeParameters = void (*)(FabricParameter*);

// ucp/api/ucp.h and ucs/config/types.h of UCX 1: ucp_config_read(), _print(), _release().
using ReadConfiguration = int (*)(const char* prefix, const char* file, void** configuration);
using PrintConfiguration = void (*)(const void* configuration, std::FILE* stream, const char* title,
                                    int flags);
using ReleaseConfiguration = void (*)(void* configuration);
constexpr int print_values = 1 << 0;
constexpr int print_hidden = 1 << 3;

using Values = std::map<std::string, std::string, std::less<>>;

struct Close {
    void operator()(void* library) const noexcept { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

// Every file that is mapped, in the order of the linker's search.
int add_name(dl_phdr_info* object, std::size_t /*bytes*/, void* names) {
    if (object->dlpi_name != nullptr && *object->dlpi_name != '\0') {
        static_cast<std::vector<std::string>*>(names)->emplace_back(object->dlpi_name);
    }
    return 0;
}

// The mapped library that has a function; none is loaded for it. MPI's own file will do: it needs
// the library, or holds it.
Library mapped_with(const char* function) {
    std::vector<std::string> names;
    ::dl_iterate_phdr(add_name, &names);
    for (const std::string& name : names) {
        Library library(::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD));
        if (library != nullptr && ::dlsym(library.get(), function) != nullptr) {
            return library;
        }
    }
    return nullptr;
}

template <class Function>
Function function_of(const Library& library, const char* name) {
    return reinterpret_cast<Function>(::dlsym(library.get(), name));
}

Values libfabric_values(const Library& library) {
    const auto get = function_of<GetParameters>(library, "fi_getparams");
    const auto release = function_of<FreeParameters>(library, "fi_freeparams");
    FabricParameter* parameters = nullptr;
    int count = 0;
    if (get == nullptr || release == nullptr || get(&parameters, &count) != 0) {
        return {};
    }
    Values values;
    for (const FabricParameter& one : std::span(parameters, static_cast<std::size_t>(count))) {
        values[one.name] =
            one.value == nullptr ? std::string() : as_libfabric_reads(one.kind, one.value);
    }
    release(parameters);
    return values;
}

// What UCX prints, NAME=VALUE on a line of its own.
Values ucx_values(const Library& library) {
    const auto read = function_of<ReadConfiguration>(library, "ucp_config_read");
    const auto print = function_of<PrintConfiguration>(library, "ucp_config_print");
    const auto release = function_of<ReleaseConfiguration>(library, "ucp_config_release");
    void* configuration = nullptr;
    if (read == nullptr || print == nullptr || release == nullptr ||
        read(nullptr, nullptr, &configuration) != 0) {
        return {};
    }
    char* text = nullptr;
    std::size_t letters = 0;
    Values values;
    if (std::FILE* stream = ::open_memstream(&text, &letters); stream != nullptr) {
        print(configuration, stream, nullptr, print_values | print_hidden);
        std::fclose(stream);
        std::istringstream lines(std::string(text, letters));
        std::free(text);
        for (std::string line; std::getline(lines, line);) {
            if (const std::size_t split = line.find('='); split != std::string::npos) {
                values[line.substr(0, split)] = line.substr(split + 1);
            }
        }
    }
    release(configuration);
    return values;
}

// A library below MPI, and the settings of MPI by which data surely goes through it.
struct Below {
    std::string_view prefix;
    const char* function;
    Values (*values)(const Library&);
    bool lists_all; // a name that it does not list is none of it
    const char* netmod;
    std::pair<const char*, const char*> open_mpi;
};
constexpr const char* netmod_variable = "MPIR_CVAR_CH4_NETMOD";
// UCX lists those of its upper layer only; it warns itself of names that none of it reads.
constexpr std::array<Below, 2> all_below{
    {{"FI_", "fi_getparams", libfabric_values, true, "ofi", {"OMPI_MCA_mtl", "ofi"}},
     {"UCX_", "ucp_config_print", ucx_values, false, "ucx", {"OMPI_MCA_pml", "ucx"}}}};

bool is_set_to(const char* name, std::string_view value) {
    const char* text = std::getenv(name);
    return text != nullptr && text == value;
}

bool is_surely_used(const Below& below, bool has_netmod) {
    if (!has_netmod) {
        return is_set_to(below.open_mpi.first, below.open_mpi.second);
    }
    // An MPICH with only one of the two uses that, whatever it is told.
    return is_set_to(netmod_variable, below.netmod) ||
           std::ranges::none_of(all_below, [&](const Below& other) {
               return other.prefix != below.prefix && mapped_with(other.function) != nullptr;
           });
}

void ask(const Below& below, const std::vector<std::string>& names, bool has_netmod,
         std::vector<LibraryVariable>& found) {
    const Library library = mapped_with(below.function);
    if (names.empty() || library == nullptr) {
        return;
    }
    const Values values = below.values(library);
    std::vector<std::string> known;
    for (const auto& [name, value] : values) {
        known.push_back(name);
    }
    const bool is_used = is_surely_used(below, has_netmod);
    for (const std::string& name : names) {
        LibraryVariable variable;
        variable.name = name;
        if (const auto place = values.find(name); place != values.end()) {
            if (!is_used) {
                continue; // of what nobody reads nothing is said
            }
            variable.known = true;
            variable.value = place->second;
        } else if (below.lists_all && !known.empty()) {
            variable.nearest = most_like(name, known);
        } else {
            continue;
        }
        found.push_back(std::move(variable));
    }
}

std::optional<std::string> truth(const std::string& text) {
    constexpr std::array<std::array<const char*, 4>, 2> words{
        {{"0", "false", "no", "off"}, {"1", "true", "yes", "on"}}};
    for (std::size_t value = 0; value < words.size(); ++value) {
        if (std::ranges::any_of(words.at(value), [&](const char* word) {
                return ::strcasecmp(word, text.c_str()) == 0;
            })) {
            return std::to_string(value);
        }
    }
    return std::nullopt;
}

} // namespace

std::string as_libfabric_reads(FabricKind kind, const std::string& text) {
    // As its fi_param_get() does, which only providers can call.
    if (kind == FabricKind::truth) {
        return truth(text).value_or("its default, for it is no truth");
    }
    if (kind == FabricKind::text) {
        return text;
    }
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 0);
    const std::string read =
        std::to_string(kind == FabricKind::size ? number : static_cast<int>(number));
    return end == text.c_str() || *end != '\0' ? read + ", for it is no whole number" : read;
}

std::vector<LibraryVariable> fabric_variables(std::span<const std::string> names, bool has_netmod) {
    std::vector<LibraryVariable> found;
    for (const Below& below : all_below) {
        std::vector<std::string> own;
        std::ranges::copy_if(names, std::back_inserter(own), [&](const std::string& name) {
            return name.starts_with(below.prefix);
        });
        ask(below, own, has_netmod, found);
    }
    return found;
}

} // namespace sonde::mpi
