#include "schedule/words.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/failure.hpp"

namespace sonde::schedule {

namespace {

constexpr std::int64_t most_count = 999'999'999;

[[noreturn]] void refuse_word(std::string_view setting, std::string_view value,
                              std::string_view expected) {
    throw Failure("bad_request", std::string(setting) + " is '" + std::string(value.substr(0, 40)) +
                                     "'; write " + std::string(expected));
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_read = error == std::errc{} && end == text.data() + text.size();
    return is_read && value >= 1 && value <= most ? std::optional(value) : std::nullopt;
}

std::int64_t word_count(std::string_view setting, std::string_view value) {
    const auto read = whole_number(value, most_count);
    if (!read) {
        refuse_word(setting, value, "a number from 1 on");
    }
    return *read;
}

// "1460", "1k" (1024), "1KiB", "1kB" (1000), "1.5M".
std::optional<std::int64_t> word_bytes(std::string_view text) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || number < 0) {
        return std::nullopt;
    }
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    constexpr std::string_view powers = "kMGT";
    double factor = 1;
    if (!unit.empty() && unit != "B") {
        const char letter = unit.front() == 'K' ? 'k' : unit.front();
        const std::size_t power = powers.find(letter);
        const std::string_view rest = unit.substr(1);
        if (power == std::string_view::npos || (!rest.empty() && rest != "iB" && rest != "B")) {
            return std::nullopt;
        }
        factor = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
    }
    const double value = number * factor;
    if (value > static_cast<double>(most_block_bytes) || value != std::floor(value)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(value);
}

void read_fan_out(Parameters& parameters, std::string_view value) {
    parameters.fan_out = static_cast<Rank>(word_count("fan-out", value));
}

void read_segment(Parameters& parameters, std::string_view value) {
    const auto read = word_bytes(value);
    if (!read) {
        refuse_word("segment", value, "a size, such as 1460 or 8k");
    }
    parameters.segment_bytes = *read;
}

void read_window_words(Parameters& parameters, std::string_view value) {
    parameters.window = word_count("window", value);
}

void read_permutation_words(Parameters& parameters, std::string_view value) {
    for (const Permutation each :
         {Permutation::shift, Permutation::exclusive_or, Permutation::edge_colour}) {
        if (permutation_name(each) == value) {
            parameters.permutation = each;
            return;
        }
    }
    refuse_word("permutation", value, "shift, xor or edge-colour");
}

void read_hierarchy(Parameters& parameters, std::string_view value) {
    for (std::string_view left = value;;) {
        const std::size_t end = left.find('x');
        const auto degree = whole_number(left.substr(0, end), most_ranks);
        if (!degree || parameters.hierarchy.size() == most_levels) {
            refuse_word("hierarchy", value, "it like 4x4");
        }
        parameters.hierarchy.push_back(static_cast<Rank>(*degree));
        if (end == std::string_view::npos) {
            return;
        }
        left.remove_prefix(end + 1);
    }
}

void read_remap(Parameters& parameters, std::string_view /*value*/) { parameters.remap = true; }

struct Setting {
    std::string_view name;
    bool Uses::*needs;
    void (*read)(Parameters& parameters, std::string_view value);
    bool is_switch = false;
};

constexpr std::array settings{Setting{"fan-out", &Uses::fan_out, read_fan_out},
                              Setting{"segment", &Uses::segments, read_segment},
                              Setting{"window", &Uses::window, read_window_words},
                              Setting{"permutation", &Uses::permutation, read_permutation_words},
                              Setting{"hierarchy", &Uses::hierarchy, read_hierarchy},
                              Setting{"remap", &Uses::remap, read_remap, true}};

bool is_decimal(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The setting's place in the table.
std::size_t read_setting(std::string_view text, const Algorithm& algorithm,
                         Parameters& parameters) {
    const std::size_t equals = text.find('=');
    const bool is_number = is_decimal(text); // alone it is the fan-out
    const std::string_view name = is_number ? "fan-out" : text.substr(0, equals);
    const bool has_value = is_number || equals != std::string_view::npos;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const Setting& setting = settings[i];
        if (setting.name == name && algorithm.uses.*setting.needs &&
            has_value != setting.is_switch) {
            const bool is_named = has_value && !is_number;
            setting.read(parameters, is_named ? text.substr(equals + 1) : text);
            return i;
        }
    }
    throw Failure("bad_request", "'" + std::string(text.substr(0, 80)) + "' is no setting of " +
                                     std::string(algorithm.name));
}

} // namespace

Asked read_words(std::string_view text, Family family) {
    std::size_t end = text.find(':');
    Asked asked;
    asked.algorithm = std::string(family_name(family)) + "/" +
                      std::string(text.substr(0, std::min<std::size_t>(end, 80)));
    const Algorithm& algorithm = find_algorithm(asked.algorithm);
    std::array<bool, settings.size()> given{};
    while (end != std::string_view::npos) {
        text.remove_prefix(end + 1);
        end = text.find(':');
        const std::string_view each = text.substr(0, end);
        bool& is_given = given[read_setting(each, algorithm, asked.parameters)];
        if (is_given) {
            throw Failure("bad_request", "'" + std::string(each.substr(0, 80)) +
                                             "' is said twice of " + asked.algorithm);
        }
        is_given = true;
    }
    if (asked.parameters.remap && asked.parameters.hierarchy.empty()) {
        throw Failure("bad_request",
                      asked.algorithm + ": remap needs a hierarchy, such as hierarchy=4x2");
    }
    return asked;
}

} // namespace sonde::schedule
