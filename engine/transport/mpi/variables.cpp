#include "transport/mpi/variables.hpp"

#include "transport/mpi/fabric_variables.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace sonde::mpi {

namespace {

// In the environment, and what of that the library leaves out in its own names.
struct Prefix {
    std::string_view text;
    std::size_t left_out;
};
constexpr std::string_view open_mpi_prefix = "OMPI_MCA_";
constexpr std::string_view mpich_netmod = "MPIR_CVAR_CH4_NETMOD";
constexpr std::array<Prefix, 2> prefixes{
    {{"MPIR_CVAR_", 0}, {open_mpi_prefix, open_mpi_prefix.size()}}};
constexpr std::size_t longest_name = 256;
constexpr int largest_value_bytes = 4096;
constexpr std::size_t most_nearest = 3;

std::optional<Prefix> prefix_of(std::string_view name) noexcept {
    for (const Prefix& prefix : prefixes) {
        if (name.starts_with(prefix.text)) {
            return prefix;
        }
    }
    return std::nullopt;
}

struct Kind {
    int index = 0;
    int bind = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
};

std::map<std::string, Kind, std::less<>> every_variable() {
    std::map<std::string, Kind, std::less<>> found;
    int count = 0;
    if (MPI_T_cvar_get_num(&count) != MPI_SUCCESS) {
        return found;
    }
    for (int index = 0; index < count; ++index) {
        std::array<char, longest_name> name{};
        int name_letters = longest_name;
        int description_letters = 0;
        int verbosity = 0;
        int scope = 0;
        Kind kind;
        kind.index = index;
        if (MPI_T_cvar_get_info(index, name.data(), &name_letters, &verbosity, &kind.type,
                                &kind.names, nullptr, &description_letters, &kind.bind,
                                &scope) == MPI_SUCCESS) {
            found.emplace(name.data(), kind);
        }
    }
    return found;
}

// Of an enumeration the name of a number; empty where there is none.
std::string named(MPI_T_enum names, int number) {
    int items = 0;
    int letters = 0;
    if (names == MPI_T_ENUM_NULL ||
        MPI_T_enum_get_info(names, &items, nullptr, &letters) != MPI_SUCCESS) {
        return {};
    }
    for (int item = 0; item < items; ++item) {
        std::array<char, longest_name> name{};
        int name_letters = longest_name;
        int value = 0;
        if (MPI_T_enum_get_item(names, item, &value, name.data(), &name_letters) == MPI_SUCCESS &&
            value == number) {
            return name.data();
        }
    }
    return {};
}

template <class Number>
std::string number_at(const std::vector<char>& bytes) {
    Number number{};
    std::memcpy(&number, bytes.data(), sizeof number);
    return std::to_string(number);
}

std::string in_words(const Kind& kind, const std::vector<char>& bytes) {
    if (kind.type == MPI_CHAR) {
        return {bytes.data(), ::strnlen(bytes.data(), bytes.size())};
    }
    std::string text;
    if (kind.type == MPI_INT) {
        text = number_at<int>(bytes);
    } else if (kind.type == MPI_UNSIGNED) {
        text = number_at<unsigned>(bytes);
    } else if (kind.type == MPI_UNSIGNED_LONG) {
        text = number_at<unsigned long>(bytes);
    } else if (kind.type == MPI_UNSIGNED_LONG_LONG) {
        text = number_at<unsigned long long>(bytes);
    } else if (kind.type == MPI_COUNT) {
        text = number_at<MPI_Count>(bytes);
    } else if (kind.type == MPI_DOUBLE) {
        text = number_at<double>(bytes);
    } else if (kind.type == MPI_C_BOOL) {
        text.assign(1, bytes.front() != 0 ? '1' : '0');
    }
    int number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    if (const std::string name = named(kind.names, number); !name.empty()) {
        text += " (" + name + ")";
    }
    return text;
}

std::string value_of(const Kind& kind) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (kind.bind != MPI_T_BIND_NO_OBJECT ||
        MPI_T_cvar_handle_alloc(kind.index, nullptr, &handle, &count) != MPI_SUCCESS) {
        return {};
    }
    std::string value;
    // Room for `count` of the widest type, and an end of a text.
    std::vector<char> bytes(static_cast<std::size_t>(std::max(count, 1)) * sizeof(double) + 1);
    if (count <= largest_value_bytes && MPI_T_cvar_read(handle, bytes.data()) == MPI_SUCCESS) {
        value = in_words(kind, bytes);
    }
    MPI_T_cvar_handle_free(&handle);
    return value;
}

} // namespace

// Begun once and left so: MPICH 4.0 loses its list at the interface's end, though MPI goes on, and
// the process ends at the next question.
bool tool_interface_begun() {
    static const bool begun = [] {
        int provided = 0;
        return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
    }();
    return begun;
}

std::size_t letters_apart(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
        }
    }
    return row.back();
}

std::vector<std::string> most_like(std::string_view name, std::span<const std::string> others) {
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& other : others) {
        near.emplace_back(letters_apart(name, other), other);
    }
    const std::size_t shown = std::min(most_nearest, near.size());
    std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(shown));
    std::vector<std::string> nearest;
    for (std::size_t i = 0; i < shown; ++i) {
        nearest.push_back(near[i].second);
    }
    return nearest;
}

std::vector<LibraryVariable> library_variables(std::span<const std::string> names) {
    if (!tool_interface_begun()) {
        return {};
    }
    const auto every = every_variable();
    std::vector<LibraryVariable> found = fabric_variables(names, every.contains(mpich_netmod));
    for (const std::string& name : names) {
        const auto prefix = prefix_of(name);
        if (every.empty() || !prefix) {
            continue;
        }
        const std::string own = name.substr(prefix->left_out);
        LibraryVariable variable;
        variable.name = name;
        if (const auto place = every.find(own); place != every.end()) {
            variable.known = true;
            variable.value = value_of(place->second);
        } else {
            std::vector<std::string> others;
            others.reserve(every.size());
            for (const auto& [other, kind] : every) {
                others.push_back(name.substr(0, prefix->left_out) + other);
            }
            variable.nearest = most_like(name, others);
        }
        found.push_back(std::move(variable));
    }
    return found;
}

} // namespace sonde::mpi
