#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/parse.hpp"
#include "counters/parse_cores.hpp"
#include "counters/words.hpp"
#include "fuzz/choices.hpp"
#include "tracer/journal.hpp"

namespace sonde::fuzz {

namespace {

constexpr std::size_t most_samples = 8;

// The text as any of the kernel's files, or as all of them.
CounterValues parse_all(std::string_view text) {
    CounterValues values;
    parse_stat(text, values);
    parse_interrupts(text, values);
    parse_softirqs(text, values);
    parse_interfaces(text, values);
    parse_protocols(text, "snmp", values);
    parse_snmp6(text, values);
    parse_softnet(text, values);
    parse_memory(text, values);
    parse_paging(text, values);
    parse_load(text, values);
    parse_number(text, 1, "number", values);
    parse_number(text, 1000, "thousands", values);
    parse_running(text, values);
    parse_softirqs_by_cpu(text, values);
    parse_softnet_by_cpu(text, values);
    parse_memory_uses(text, values);
    parse_placement(text, values);
    parse_pressure(text, "cpu", values);
    (void)parse_link_speed(text);
    return values;
}

// What a reader makes of a trace's lines: docs/reference/trace.md.
class Reader {
public:
    void read(std::string_view lines) {
        for_each_line(lines, [this](std::string_view line) {
            const Words words = split(line);
            require_that(!words.empty(), "an empty line");
            if (words[0] == "N") {
                require_that(words.size() == 5, "a counter is named by other than five words");
                const std::int64_t index = index_of(words[1]);
                require_that(names_.try_emplace(index, words[4]).second, "an index is named twice");
            } else {
                require_that(words[0] == "S" && words.size() >= 2, "a line of no kind");
                std::for_each(words.begin() + 2, words.end(),
                              [this](std::string_view word) { change(word); });
            }
        });
    }
    [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> values() const {
        std::vector<std::pair<std::string, std::int64_t>> all;
        for (const auto& [index, value] : values_) {
            all.emplace_back(names_.at(index), value);
        }
        std::ranges::sort(all);
        return all;
    }

private:
    static std::int64_t index_of(std::string_view word) {
        const auto index = number(word);
        require_that(index.has_value() && *index >= 0, "no index");
        return *index;
    }
    void change(std::string_view word) {
        const std::size_t sign = word.find_first_of("=!+-");
        require_that(sign != std::string_view::npos && sign > 0, "a change of no kind");
        const std::int64_t index = index_of(word.substr(0, sign));
        require_that(names_.contains(index), "a counter that was not named");
        if (word[sign] == '!') {
            require_that(values_.erase(index) == 1, "a counter goes that was not there");
            return;
        }
        const bool is_whole = word[sign] == '=';
        require_that(is_whole != values_.contains(index), "a change of what is not there");
        const std::string_view digits =
            word.substr(is_whole || word[sign] == '+' ? sign + 1 : sign);
        const auto value = number(digits);
        require_that(value.has_value(), "no number");
        values_[index] = static_cast<std::int64_t>(static_cast<std::uint64_t>(values_[index]) +
                                                   static_cast<std::uint64_t>(*value));
    }

    std::map<std::int64_t, std::string> names_;
    std::map<std::int64_t, std::int64_t> values_;
};

std::vector<std::pair<std::string, std::int64_t>> as_words(const CounterValues& values) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (const auto& [name, value] : values) {
        std::string word = name;
        std::ranges::replace_if(
            word, [](unsigned char c) { return c <= ' ' || c == 127; }, '_');
        all.emplace_back(word, value);
    }
    std::ranges::sort(all);
    return all;
}

} // namespace

// Samples between form feeds: what is written of them is read back as what they were.
void play_traces(std::span<const std::uint8_t> bytes) {
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    SampleText text;
    Reader reader;
    for (std::size_t count = 0; count < most_samples && !rest.empty(); ++count) {
        const std::size_t end = std::min(rest.find('\f'), rest.size());
        const CounterValues values = parse_all(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::string lines = text.lines("S 1", values);
        if (end % 5 == 4) { // as if a full disk had not taken them
            continue;
        }
        text.commit();
        reader.read(lines);
        require_that(reader.values() == as_words(values), "a sample is read as another one");
    }
}

} // namespace sonde::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sonde::fuzz::play_traces({data, size});
    return 0;
}
