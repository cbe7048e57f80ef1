#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "collective/entry.hpp"
#include "collective/persistent.hpp"
#include "core/failure.hpp"

namespace sonde::collective {
namespace {

constexpr std::string_view started_prefix = "i";
constexpr std::string_view persistent_suffix = "_init";

int start_again(Context& context) { return MPI_Start(&context.request); }

int restart(Context& context) {
    const int status = start_again(context);
    return status == MPI_SUCCESS ? MPI_Wait(&context.request, MPI_STATUS_IGNORE) : status;
}

Entry in_form(Entry entry, Form form) {
    entry.form = form;
    if (form == Form::started) {
        entry.call = entry.started;
    } else if (form == Form::persistent) {
        entry.call = restart;
        entry.begin = start_again;
        entry.binds = true;
    } else if (entry.started != nullptr) {
        entry.begin = nullptr;
    }
    return entry;
}

std::string name_in(const Entry& entry, Form form) {
    const std::string name(entry.name);
    switch (form) {
    case Form::started:
        return std::string(started_prefix) + name;
    case Form::persistent:
        return name + std::string(persistent_suffix);
    case Form::blocking:
        break;
    }
    return name;
}

std::vector<Form> forms_of(const Entry& entry) {
    std::vector<Form> forms{Form::blocking};
    if (entry.started != nullptr) {
        forms.push_back(Form::started);
    }
    if (entry.make_persistent != nullptr) {
        forms.push_back(Form::persistent);
    }
    return forms;
}

// Whether the MPI library that this program runs with has it.
bool is_there(const Entry& entry, Form form) {
    return form != Form::persistent || find_persistent(entry.name) != nullptr;
}

constexpr std::array group_names{"collective", "neighbourhood", "message",     "rate",
                                 "datatype",   "one_sided",     "communicator"};
constexpr std::array size_names{"any", "words", "records", "one_word", "none"};
constexpr std::array partner_names{"none", "matching", "any"};
constexpr std::array form_names{"blocking", "started", "persistent"};

} // namespace

std::vector<Entry> all_entries() {
    std::vector<Entry> all;
    for (const auto table : {collectives(), neighbours(), messages(), rates(), layouts(),
                             one_sided(), communicators()}) {
        all.insert(all.end(), table.begin(), table.end());
    }
    return all;
}

std::vector<std::string> names_of(const Entry& entry) {
    std::vector<std::string> names;
    for (const Form form : forms_of(entry)) {
        names.push_back(name_in(entry, form));
    }
    return names;
}

Entry find_entry(std::string_view name) {
    for (const Entry& entry : all_entries()) {
        for (const Form form : forms_of(entry)) {
            if (name_in(entry, form) == name) {
                return in_form(entry, form);
            }
        }
    }
    throw Failure("bad_request",
                  "request: operation is " + std::string(name) + ", which sonde-mpi does not have");
}

std::string operations_as_json_lines() {
    std::string lines;
    for (const Entry& entry : all_entries()) {
        for (const Form form : forms_of(entry)) {
            const Entry formed = in_form(entry, form);
            const nlohmann::json line{
                {"name", name_in(entry, form)},
                {"group", group_names.at(static_cast<std::size_t>(entry.group))},
                {"sizes", size_names.at(static_cast<std::size_t>(entry.sizes))},
                {"partnered", partner_names.at(static_cast<std::size_t>(entry.partnered))},
                {"rooted", entry.rooted},
                {"divides", entry.divides},
                {"reduces", entry.reduces},
                {"windowed", entry.windowed},
                {"binds", formed.binds},
                {"begins", formed.begin != nullptr},
                {"head_on", entry.head_on != nullptr},
                {"to_one", entry.to_one != nullptr},
                {"schedules", form == Form::blocking && entry.family
                                  ? std::string(schedule::family_name(*entry.family))
                                  : ""},
                {"form", form_names.at(static_cast<std::size_t>(form))},
                {"there", is_there(entry, form)}};
            lines += line.dump() + "\n";
        }
    }
    return lines;
}

} // namespace sonde::collective
