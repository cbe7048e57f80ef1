#include "core/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "fuzz/choices.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/record_lines.hpp"

namespace sonde::fuzz {

namespace {

using nlohmann::json;

constexpr int most_records = 40;

int digit_of(char c) {
    static const std::string alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t place = alphabet.find(c);
    require_that(place != std::string::npos, "no digit of base 64");
    return static_cast<int>(place);
}

std::vector<std::int64_t> values_of(const std::string& text) {
    std::string bytes;
    std::uint32_t group = 0;
    int digits = 0;
    for (const char c : text.substr(0, text.find('='))) {
        group = group << 6U | static_cast<std::uint32_t>(digit_of(c));
        if (++digits % 4 != 1) {
            bytes +=
                static_cast<char>(group >> (6U - 2U * ((static_cast<unsigned>(digits) - 1U) % 4U)));
        }
    }
    require_that(bytes.size() % sizeof(std::int64_t) == 0, "a series has half a value");
    std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
    if (!values.empty()) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
    }
    return values;
}

json choose_values(Choices& choices) {
    json values = json::object();
    for (std::uint32_t left = choices.below(4); left > 0; --left) {
        const std::string name = choices.text();
        const std::uint64_t word = choices.word();
        double real = 0;
        std::memcpy(&real, &word, sizeof real);
        switch (choices.below(4)) {
        case 0:
            values[name] = choices.text();
            break;
        case 1:
            values[name] = real; // also what is no number
            break;
        case 2:
            values[name] = static_cast<std::int64_t>(word);
            break;
        default:
            values[name] = choices.flag();
        }
    }
    return values;
}

// A series comes back as it was written, whatever its length.
void write_series(Choices& choices, RecordWriter& writer, const MemoryFile& file) {
    // Few most of the time; now and then more than one record holds.
    const std::uint32_t many = choices.byte();
    std::vector<std::int64_t> values(many == UINT8_MAX ? series_piece_values + 7 : many % 40);
    std::ranges::generate(values, [&] { return static_cast<std::int64_t>(choices.word()); });
    const std::size_t before = file.content().size();
    writer.series(1, choices.text(), choices.text(), values);
    std::vector<std::int64_t> found;
    for (const json& piece : read_records(file.content().substr(before))) {
        require_that(piece["offset"] == found.size() && piece["total"] == values.size(),
                     "a piece of a series is not where it belongs");
        const auto more = values_of(piece["values"].get<std::string>());
        require_that(piece["count"] == more.size(), "a piece has another length than it says");
        found.insert(found.end(), more.begin(), more.end());
    }
    require_that(found == values, "a series was written as another one");
}

void write_one(Choices& choices, RecordWriter& writer, const MemoryFile& file) {
    switch (choices.below(8)) {
    case 0:
        return write_series(choices, writer, file);
    case 1:
        return writer.facts(static_cast<std::int64_t>(choices.word()), choose_values(choices));
    case 2:
        return writer.counters(1, choose_values(choices));
    case 3:
        return writer.snapshot(2, choices.text(), static_cast<std::int64_t>(choices.word()), 5,
                               choose_values(choices));
    case 4:
        return writer.done(3, choices.text(), choose_values(choices));
    case 5:
        return writer.error(4, choices.text(), choices.text());
    case 6: {
        ClockFacts facts;
        facts.reason = choices.text();
        return writer.hello(choices.text(), choices.text(), 1, facts);
    }
    default:
        return writer.bye(choices.text());
    }
}

} // namespace

// Records of any names and values are lines of JSON, in their order.
void play_records(std::span<const std::uint8_t> bytes) {
    static const MemoryFile file;
    Choices choices(bytes);
    file.fill("");
    RecordWriter writer(file.fd(), choices.text(), static_cast<int>(choices.below(1000)));
    std::size_t written = 0;
    for (; written < most_records && !choices.used_up(); ++written) {
        write_one(choices, writer, file);
    }
    require_that(read_records(file.content()).size() >= written, "a record is not written");
}

} // namespace sonde::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sonde::fuzz::play_records({data, size});
    return 0;
}
