#include "core/processors.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

namespace sonde {
namespace {

// More than any host has; a list of more is not believed.
constexpr int most_processors = 65'536;

std::string first_line(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<int> whole_number(std::string_view text) {
    int number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_one = error == std::errc{} && stop == text.data() + text.size();
    return is_one && number >= 0 && number < most_processors ? std::optional(number) : std::nullopt;
}

// The number behind `prefix` in the names of a folder's entries: cpu0, cpu1, node0.
std::vector<int> numbered(const std::string& folder, std::string_view prefix) {
    std::vector<int> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix)) {
            if (const auto number = whole_number(std::string_view(name).substr(prefix.size()))) {
                found.push_back(*number);
            }
        }
    }
    std::ranges::sort(found);
    return found;
}

} // namespace

ProcessorGroups packages(const std::string& folder) {
    ProcessorGroups groups;
    for (const int processor : numbered(folder, "cpu")) {
        const std::string own = folder + "cpu" + std::to_string(processor);
        if (const auto package = whole_number(first_line(own + "/topology/physical_package_id"))) {
            groups[*package].push_back(processor);
        }
    }
    return groups;
}

ProcessorGroups numa_nodes(const std::string& folder) {
    ProcessorGroups groups;
    for (const int node : numbered(folder, "node")) {
        const std::string own = folder + "node" + std::to_string(node);
        auto processors = read_processors(first_line(own + "/cpulist"));
        if (!processors.empty()) { // a node may have memory only
            groups[node] = std::move(processors);
        }
    }
    return groups;
}

std::vector<int> read_processors(std::string_view text) {
    std::vector<int> found;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, end);
        const std::size_t dash = std::min(part.find('-'), part.size());
        const auto first = whole_number(part.substr(0, dash));
        const auto last = dash == part.size() ? first : whole_number(part.substr(dash + 1));
        if (!first || !last || *last < *first) {
            return {};
        }
        for (int processor = *first; processor <= *last; ++processor) {
            found.push_back(processor);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
}

std::string in_words(const ProcessorGroups& groups) {
    std::string words;
    for (const auto& [number, processors] : groups) {
        words += (words.empty() ? "" : " ") + std::to_string(number) + ':';
        for (std::size_t i = 0; i < processors.size();) {
            std::size_t last = i;
            while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) {
                ++last;
            }
            words += (i == 0 ? "" : ",") + std::to_string(processors[i]);
            words += last == i ? "" : "-" + std::to_string(processors[last]);
            i = last + 1;
        }
    }
    return words;
}

} // namespace sonde
