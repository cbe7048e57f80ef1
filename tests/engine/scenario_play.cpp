// Scenarios and schedule requests as damaged texts; fuzz/ has the same with a fuzzer behind it.
#include "fuzz/scenario_play.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace sonde;

TEST_SUITE_BEGIN("scenario_play");

namespace {

std::vector<std::string> seeds() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(SONDE_FUZZ_SEEDS)) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end()); // the same texts on every machine
    std::vector<std::string> texts;
    for (const auto& path : paths) {
        std::ifstream file(path);
        texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return texts;
}

class Damage {
public:
    explicit Damage(std::uint32_t seed) : random_(seed) {}

    std::string of(std::string text, const std::vector<std::string>& others) {
        for (std::size_t left = 1 + random_() % 4; left > 0 && !text.empty(); --left) {
            change(text, others[random_() % others.size()]);
        }
        return text;
    }

private:
    void change(std::string& text, const std::string& other) {
        static const std::vector<std::string> words{"0",
                                                    "-1",
                                                    "1e999",
                                                    "9223372036854775807",
                                                    "18446744073709551616",
                                                    "0.5",
                                                    "null",
                                                    "true",
                                                    "[]",
                                                    "{}",
                                                    "\"\\u0000\"",
                                                    "[[[[",
                                                    "\xff\xfe",
                                                    "1000000000",
                                                    "\"x\""};
        const std::size_t at = random_() % text.size();
        const std::size_t length = std::min<std::size_t>(random_() % 12, text.size() - at);
        switch (random_() % 6) {
        case 0:
            text[at] = static_cast<char>(random_());
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(at, text.substr(random_() % text.size(), length));
            break;
        case 3:
            text.insert(at, words[random_() % words.size()]);
            break;
        case 4: // a number becomes another value
            change_number(text, at, words[random_() % words.size()]);
            break;
        default:
            text = text.substr(0, at) + other.substr(random_() % other.size());
        }
    }

    static void change_number(std::string& text, std::size_t from, const std::string& word) {
        const std::size_t begin = text.find_first_of("0123456789", from);
        if (begin != std::string::npos) {
            const std::size_t end = text.find_first_not_of("0123456789", begin);
            text.replace(begin, std::min(end, text.size()) - begin, word);
        }
    }

    std::mt19937 random_;
};

} // namespace

TEST_CASE("every seed is accepted as it is") {
    const auto texts = seeds();
    REQUIRE(texts.size() > 5);
    for (const std::string& text : texts) {
        INFO(text);
        CHECK(play_scenario(text) == "accepted");
    }
}

TEST_CASE("whatever is done to a text, it runs or is refused in a sentence") {
    const auto texts = seeds();
    std::size_t accepted = 0;
    constexpr std::uint32_t rounds = 20'000;
    for (std::uint32_t seed = 0; seed < rounds; ++seed) {
        const std::string text = Damage(seed).of(texts[seed % texts.size()], texts);
        INFO("seed ", seed, ": ", text);
        std::string said;
        CHECK_NOTHROW(said = play_scenario(text));
        accepted += said == "accepted" ? 1 : 0;
    }
    CHECK(accepted > rounds / 50); // both ways out are met
    CHECK(accepted < rounds / 2);
}

TEST_SUITE_END();
