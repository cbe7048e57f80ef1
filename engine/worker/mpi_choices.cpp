#include "worker/mpi_choices.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.hpp"

namespace sonde {
namespace {

using nlohmann::json;

constexpr std::int64_t last_rank = 1'048'575;
constexpr std::size_t most_pairs = 4096;
constexpr std::int64_t most_window = 4096;
constexpr std::int64_t most_polls = 100'000;
constexpr std::int64_t most_cache_bytes = std::int64_t{16} << 30U;
constexpr std::int64_t most_align_bytes = 2048;
constexpr std::int64_t most_threads = 128;
// Of all threads or partners together: what a series may hold.
constexpr std::uint64_t most_thread_samples = 1ULL << 24U;

constexpr std::array<std::string_view, 14> choice_names{
    "schedule", "frames",      "library_algorithm", "count_partners",
    "partners", "window",      "reduction",         "datatype",
    "cache",    "cache_bytes", "align_bytes",       "overlap",
    "polls",    "both_timers"};
using CacheName = std::pair<std::string_view, CacheState>;
constexpr std::array<CacheName, 4> cache_names{{{"warm", CacheState::warm},
                                                {"flush", CacheState::flushed},
                                                {"rotate", CacheState::rotated},
                                                {"fresh", CacheState::fresh}}};

int as_rank(const json& value, std::string_view field) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > last_rank) {
        throw Failure("bad_request",
                      "request: " + std::string(field) + ": expected a rank, got " + value.dump());
    }
    return value.get<int>();
}

std::array<int, 2> as_ranks(const json& value, std::string_view field) {
    if (!value.is_array() || value.size() != 2) {
        throw Failure("bad_request", "request: " + std::string(field) +
                                         ": expected two ranks, such as [0, 3], got " +
                                         value.dump());
    }
    return {as_rank(value[0], field), as_rank(value[1], field)};
}

std::array<int, 2> as_pair(const json& value, std::string_view field) {
    const std::array<int, 2> pair = as_ranks(value, field);
    if (pair[0] == pair[1]) {
        throw Failure("bad_request", "request: " + std::string(field) + ": rank " +
                                         std::to_string(pair[0]) + " is its own partner");
    }
    return pair;
}

void read_cache(Fields& fields, OperationChoices& choices) {
    const auto cache = fields.optional_text("cache", 32);
    const auto* const named = std::ranges::find(
        cache_names, std::string_view(cache ? *cache : "warm"), &CacheName::first);
    if (named == cache_names.end()) {
        throw Failure("bad_request",
                      "request: cache is " + *cache + ", expected warm, flush, rotate or fresh");
    }
    choices.cache = named->second;
    const auto cache_bytes = fields.optional_integer("cache_bytes", 4096, most_cache_bytes);
    if (cache_bytes && choices.cache != CacheState::flushed &&
        choices.cache != CacheState::rotated) {
        throw Failure("bad_request", "request: cache_bytes goes with cache flush or rotate");
    }
    choices.cache_bytes = static_cast<std::size_t>(cache_bytes.value_or(0));
}

// One of some words; empty where nothing was asked for.
template <std::size_t count>
std::string read_word(Fields& fields, std::string_view field,
                      const std::array<std::string_view, count>& words) {
    const std::string word = fields.optional_text(field, 32).value_or("");
    if (word.empty() || std::ranges::find(words, word) != words.end()) {
        return word;
    }
    std::string known;
    for (const std::string_view name : words) {
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw Failure("bad_request",
                  "request: " + std::string(field) + " is " + word + ", expected one of " + known);
}

// What carries a schedule's messages in the place of MPI.
LinkOptions read_frames(Fields& fields, bool has_schedule) {
    LinkOptions options = read_link_options(fields, "frames");
    if (!has_schedule) {
        throw Failure("bad_request", "request: frames go with schedule");
    }
    if (!options.reliable || options.source_address || options.cpu) {
        throw Failure("bad_request", "request: frames of a schedule are reliable; they have no "
                                     "source_address and no cpu");
    }
    return options;
}

} // namespace

OperationChoices read_choices(Fields& fields, bool is_collective) {
    for (const std::string_view name : choice_names) {
        if (!is_collective && fields.has(name)) {
            throw Failure("bad_request",
                          "request: " + std::string(name) + " goes with test collective");
        }
    }
    OperationChoices choices;
    for (const json& pair : fields.list("partners", most_pairs)) {
        choices.partners.push_back(as_pair(pair, "partners"));
    }
    choices.window =
        static_cast<int>(fields.optional_integer("window", 1, most_window).value_or(0));
    choices.reduction = read_word(fields, "reduction", reduction_names);
    choices.datatype = read_word(fields, "datatype", datatype_names);
    read_cache(fields, choices);
    const auto align_bytes = fields.optional_integer("align_bytes", 1, most_align_bytes);
    choices.align_bytes = static_cast<std::size_t>(align_bytes.value_or(0));
    if (align_bytes && !std::has_single_bit(choices.align_bytes)) {
        throw Failure("bad_request", "request: align_bytes is " + std::to_string(*align_bytes) +
                                         ", expected a power of two");
    }
    choices.overlap = fields.flag("overlap", false);
    const auto polls = fields.optional_integer("polls", 0, most_polls);
    if (polls && !choices.overlap) {
        throw Failure("bad_request", "request: polls go with overlap");
    }
    choices.polls = static_cast<int>(polls.value_or(0));
    choices.both_timers = fields.flag("both_timers", false);
    if (fields.has("schedule")) {
        Fields asked = fields.object("schedule");
        choices.schedule = schedule::read_asked(asked);
        asked.finish();
    }
    if (fields.has("frames")) {
        choices.frames = read_frames(fields, choices.schedule.has_value());
    }
    choices.library_algorithm = fields.optional_text("library_algorithm", 64).value_or("");
    choices.count_partners = fields.flag("count_partners", false);
    if (choices.schedule && !choices.library_algorithm.empty()) {
        throw Failure("bad_request", "request: schedule and library_algorithm do not go together: "
                                     "an operation is done in one way");
    }
    return choices;
}

std::array<int, 2> read_pair(Fields& fields, bool is_between_two) {
    const std::vector<json> ranks = fields.list("pair", 2);
    if (!fields.has("pair")) {
        return {0, 1};
    }
    if (!is_between_two) {
        throw Failure("bad_request", "request: pair goes with tests between two ranks");
    }
    return as_pair(ranks, "pair");
}

std::vector<AskedPair> read_asked(Fields& fields, bool is_all_pairs, std::uint64_t count) {
    std::vector<AskedPair> found;
    for (const json& pair : fields.list("asked", most_pairs)) {
        found.push_back(as_ranks(pair, "asked"));
    }
    if (is_all_pairs != !found.empty()) {
        throw Failure("bad_request", "request: asked, pairs of ranks, and test all-pairs go "
                                     "together");
    }
    if (found.size() * count > most_thread_samples) {
        throw Failure("bad_request", "request: " + std::to_string(found.size()) + " pairs with " +
                                         std::to_string(count) +
                                         " round trips are more than 16777216 in all");
    }
    return found;
}

ThreadChoices read_threads(Fields& fields, bool is_threads, std::uint64_t messages) {
    const auto count = fields.optional_integer("threads", 1, most_threads);
    const auto communicators = fields.optional_text("communicators", 32);
    if ((count || communicators) && !is_threads) {
        throw Failure("bad_request", "request: threads and communicators go with test threads");
    }
    if (is_threads && !count) {
        throw Failure("bad_request", "request: test threads takes threads, how many there are");
    }
    if (communicators && *communicators != "own" && *communicators != "shared") {
        throw Failure("bad_request",
                      "request: communicators is " + *communicators + ", expected own or shared");
    }
    ThreadChoices found;
    found.count = static_cast<std::size_t>(count.value_or(1));
    found.share_communicator = communicators == "shared";
    if (found.count * messages > most_thread_samples) {
        throw Failure("bad_request", "request: " + std::to_string(found.count) + " threads of " +
                                         std::to_string(messages) +
                                         " messages are more than 16777216 in all");
    }
    return found;
}

} // namespace sonde
