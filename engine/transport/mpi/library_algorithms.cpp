#include "transport/mpi/library_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <ranges>

#include "core/failure.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/variables.hpp"

namespace sonde::mpi {
namespace {

// A variable that must have a value beside the algorithm's own; $ stands for the operation.
struct Beside {
    std::string_view name;
    std::string_view word; // one of those in its description; empty: number
    int number;
};

// What a library's variables are called.
struct Family {
    std::string_view variable;
    bool is_upper; // whether the operation is written in capital letters
    std::array<Beside, 2> beside;
};

constexpr std::array<Family, 2> families{{
    // MPICH: not by way of parts for one device, which have algorithms of their own; and an error
    // where the algorithm is not for these arguments, instead of another one without a word.
    {"MPIR_CVAR_$_INTRA_ALGORITHM",
     true,
     {{{"MPIR_CVAR_$_DEVICE_COLLECTIVE", "", 0}, {"MPIR_CVAR_COLLECTIVE_FALLBACK", "error", 0}}}},
    {"coll_tuned_$_algorithm", false, {}},
}};

// The ends of MPICH's sentences, to which the next word is glued.
constexpr std::array<std::string_view, 6> sentence_ends{"algorithm", "Allgather", "Tree",
                                                        "Ring",      "exchange",  ")"};
// The library's own choice, in either family.
constexpr std::array<std::string_view, 2> choices_of_its_own{"auto", "ignore"};
constexpr std::string_view preference_key = "ompi_comm_coll_preference";
constexpr std::string_view preference = "tuned";

std::string named_for(std::string_view pattern, const Family& family, std::string_view operation) {
    std::string name;
    for (const char letter : pattern) {
        if (letter != '$') {
            name += letter;
            continue;
        }
        for (const char each : operation) {
            name += family.is_upper
                        ? static_cast<char>(std::toupper(static_cast<unsigned char>(each)))
                        : each;
        }
    }
    return name;
}

std::optional<int> variable_named(const std::string& name) {
    int index = 0;
    if (!tool_interface_begun() || MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) {
        return std::nullopt;
    }
    return index;
}

std::vector<LibraryAlgorithm> numbered(MPI_T_enum names) {
    std::vector<LibraryAlgorithm> found;
    int items = 0;
    int letters = 0;
    if (MPI_T_enum_get_info(names, &items, nullptr, &letters) != MPI_SUCCESS) {
        return found;
    }
    for (int item = 0; item < items; ++item) {
        std::array<char, 256> name{};
        int name_letters = static_cast<int>(name.size());
        int value = 0;
        if (MPI_T_enum_get_item(names, item, &value, name.data(), &name_letters) == MPI_SUCCESS) {
            found.push_back({value, name.data()});
        }
    }
    return found;
}

// All that a variable may be: by its enumeration, or by its description.
std::vector<LibraryAlgorithm> every_word_of(int index) {
    std::array<char, 4096> description{};
    std::array<char, 256> name{};
    int letters = static_cast<int>(description.size());
    int name_letters = static_cast<int>(name.size());
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(index, name.data(), &name_letters, &verbosity, &type, &names,
                            description.data(), &letters, &bind, &scope) != MPI_SUCCESS ||
        type != MPI_INT) {
        return {};
    }
    if (names != MPI_T_ENUM_NULL) {
        return numbered(names);
    }
    std::vector<LibraryAlgorithm> found;
    for (std::string& word : words_in_description(description.data())) {
        const int number = static_cast<int>(found.size());
        found.push_back({number, std::move(word)});
    }
    return found;
}

struct Found {
    const Family* family;
    int variable;
};

std::optional<Found> variable_for(std::string_view operation) {
    for (const Family& family : families) {
        if (const auto index = variable_named(named_for(family.variable, family, operation))) {
            return Found{&family, *index};
        }
    }
    return std::nullopt;
}

bool is_its_own_choice(const LibraryAlgorithm& algorithm) {
    return std::ranges::find(choices_of_its_own, algorithm.name) != choices_of_its_own.end();
}

class Handle {
public:
    explicit Handle(int variable) {
        int count = 0;
        is_open_ = MPI_T_cvar_handle_alloc(variable, nullptr, &handle_, &count) == MPI_SUCCESS &&
                   count == 1;
    }
    ~Handle() { MPI_T_cvar_handle_free(&handle_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    [[nodiscard]] std::optional<int> read() const {
        int value = 0;
        if (!is_open_ || MPI_T_cvar_read(handle_, &value) != MPI_SUCCESS) {
            return std::nullopt;
        }
        return value;
    }
    [[nodiscard]] bool write(int value) const {
        return is_open_ && MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS;
    }

private:
    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
    bool is_open_ = false;
};

std::string listed(const std::vector<LibraryAlgorithm>& algorithms) {
    std::string names;
    for (const LibraryAlgorithm& each : algorithms) {
        names += (names.empty() ? "" : ", ") + each.name;
    }
    return names;
}

} // namespace

std::vector<std::string> words_in_description(std::string_view description) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    constexpr std::string_view mark = " - ";
    std::vector<std::string> found;
    for (std::size_t at = description.find(mark); at != std::string_view::npos;
         at = description.find(mark, at + 1)) {
        const std::size_t last = description.find_last_not_of(' ', at);
        if (last == std::string_view::npos) {
            continue;
        }
        const std::size_t before = description.find_last_of(" \t\n", last);
        std::string_view word = description.substr(before + 1, last - before);
        for (const std::string_view end : sentence_ends) {
            if (const std::size_t place = word.find(end);
                place != std::string_view::npos && place + end.size() < word.size()) {
                word.remove_prefix(place + end.size());
                break;
            }
        }
        if (!word.empty() && word.find_first_not_of(letters) == std::string_view::npos) {
            found.emplace_back(word);
        }
    }
    return found;
}

std::vector<LibraryAlgorithm> library_algorithms(std::string_view operation) {
    const auto found = variable_for(operation);
    if (!found) {
        return {};
    }
    std::vector<LibraryAlgorithm> words = every_word_of(found->variable);
    std::erase_if(words, is_its_own_choice);
    return words;
}

ForcedAlgorithm::ForcedAlgorithm(std::string_view operation, std::string_view name) {
    const auto found = variable_for(operation);
    const std::vector<LibraryAlgorithm> known = library_algorithms(operation);
    if (!found || known.empty()) {
        throw Failure("unsupported", "this MPI library has no variable that chooses how it does " +
                                         std::string(operation));
    }
    const auto wanted = std::ranges::find(known, name, &LibraryAlgorithm::name);
    if (wanted == known.end()) {
        throw Failure("bad_request", "this MPI library has no algorithm " + std::string(name) +
                                         " for " + std::string(operation) + "; it has " +
                                         listed(known));
    }
    for (const Beside& beside : found->family->beside) {
        if (beside.name.empty()) {
            continue;
        }
        const auto other = variable_named(named_for(beside.name, *found->family, operation));
        if (!other) {
            continue; // not in every version
        }
        const std::vector<LibraryAlgorithm> words = every_word_of(*other);
        const auto word = std::ranges::find(words, beside.word, &LibraryAlgorithm::name);
        set(*other, word == words.end() ? beside.number : word->number);
    }
    set(found->variable, wanted->number);
}

void ForcedAlgorithm::set(int variable, int value) {
    const Handle handle(variable);
    const auto was = handle.read();
    if (!was || !handle.write(value) || handle.read() != value) {
        throw Failure("unsupported", "this MPI library does not let a running program choose how "
                                     "it does this operation");
    }
    before_.emplace_back(variable, *was);
}

ForcedAlgorithm::~ForcedAlgorithm() {
    for (const auto& [variable, value] : std::views::reverse(before_)) {
        [[maybe_unused]] const bool unsaid = Handle(variable).write(value);
    }
}

FreshCommunicator::FreshCommunicator(MPI_Comm like) {
    // Open MPI has several components that do one operation; this one has the variables. Another
    // library ignores a key that it does not know (MPI 4.0, chapter 10).
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "make an info object");
    MPI_Info_set(info, preference_key.data(), preference.data());
    const int status = MPI_Comm_dup_with_info(like, info, &communicator_);
    MPI_Info_free(&info);
    check(status, "make a communicator");
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "set its error handler");
}

} // namespace sonde::mpi
