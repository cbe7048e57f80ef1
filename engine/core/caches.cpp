#include "core/caches.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace sonde {
namespace {

std::string first_word(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

// A size as the kernel writes it: "32K", "1024K".
std::size_t size_of(const std::string& text) {
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
        return 0;
    }
    const std::string_view unit(stop, text.data() + text.size());
    return number * (unit == "K" ? 1024 : unit == "M" ? 1024 * 1024 : 1);
}

} // namespace

std::vector<DataCache> data_caches(const std::string& folder) {
    constexpr int most_caches = 16;
    std::vector<DataCache> caches;
    for (int index = 0; index < most_caches; ++index) {
        const std::string of_one = folder + "index" + std::to_string(index) + '/';
        const std::string type = first_word(of_one + "type");
        const DataCache cache{first_word(of_one + "level"), type == "Data",
                              size_of(first_word(of_one + "size"))};
        if (cache.level.size() == 1 && type != "Instruction" && cache.bytes > 0) {
            caches.push_back(cache);
        }
    }
    return caches;
}

std::size_t last_level_cache_bytes(const std::vector<DataCache>& caches) {
    std::size_t largest = 0;
    for (const DataCache& cache : caches) {
        largest = std::max(largest, cache.bytes);
    }
    return largest;
}

} // namespace sonde
