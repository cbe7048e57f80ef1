#include "worker/schedule_verbs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "schedule/choose.hpp"
#include "schedule/read.hpp"
#include "schedule/schedule.hpp"
#include "schedule/variants.hpp"

namespace sonde {

namespace {

using namespace schedule;
using nlohmann::ordered_json;

constexpr std::int64_t most_shown_steps = 1'000'000;
constexpr Rank most_checked_ranks = 4096;
constexpr std::size_t most_rank_counts = 4096;

ordered_json uses_json(const Uses& uses) {
    ordered_json list = ordered_json::array();
    const auto add = [&](bool used, const char* name) {
        if (used) {
            list.push_back(name);
        }
    };
    add(uses.root, "root");
    add(uses.segments, "segment_bytes");
    add(uses.sizes, "sizes");
    add(uses.fan_out, "fan_out");
    add(uses.permutation, "permutation");
    add(uses.window, "window");
    add(uses.hierarchy, "hierarchy");
    add(uses.remap, "remap");
    return list;
}

void list(const Fields& fields, const SayJson& say) {
    fields.finish();
    for (const Algorithm& algorithm : algorithms()) {
        say({{"record", "algorithm"},
             {"algorithm", algorithm.name},
             {"family", family_name(algorithm.family)},
             {"summary", algorithm.summary},
             {"uses", uses_json(algorithm.uses)},
             {"power_of_two", algorithm.uses.power_of_two},
             {"commutative", algorithm.uses.commutative}});
    }
    const SwitchPoints defaults;
    for (const SwitchPoint& point : switch_points()) {
        say({{"record", "switch_point"},
             {"name", point.name},
             {"unit", point.unit},
             {"meaning", point.meaning},
             {"default", defaults.*point.value}});
    }
}

ordered_json claims_json(const Claims& claims) {
    ordered_json said{{"node_contention_free", claims.node_contention_free},
                      {"switch_contention_free", claims.switch_contention_free},
                      {"switch_changes", claims.switch_changes},
                      {"rank_order", claims.rank_order}};
    const auto count = [&](const char* name, const auto& value) {
        said[name] = value ? ordered_json(*value) : ordered_json(nullptr);
    };
    count("rounds", claims.rounds);
    count("stalls", claims.stalls);
    count("fan_out", claims.fan_out);
    count("messages", claims.messages);
    count("bytes", claims.bytes);
    return said;
}

ordered_json range_json(const Range& range) {
    ordered_json said{
        {"origin", range.origin == partial ? ordered_json("partial") : ordered_json(range.origin)},
        {"origins", range.origins},
        {"block", range.block},
        {"blocks", range.blocks}};
    if (range.segments != whole) {
        said["segment"] = range.segment;
        said["segments"] = range.segments;
    }
    return said;
}

const char* action_name(const Step& step) {
    switch (step.action) {
    case Action::send:
        return "send";
    case Action::receive:
        return step.place == Place::aside ? "receive aside" : "receive";
    case Action::copy:
        return "copy";
    case Action::combine:
        break;
    }
    return "combine";
}

ordered_json step_json(Rank rank, std::int64_t number, const Step& step) {
    ordered_json data = ordered_json::array({range_json(step.data)});
    for (const Range& range : step.more) {
        data.push_back(range_json(range));
    }
    ordered_json said{{"record", "step"},
                      {"rank", rank},
                      {"number", number},
                      {"action", action_name(step)},
                      {"peer", step.peer < 0 ? ordered_json(nullptr) : ordered_json(step.peer)},
                      {"round", step.round},
                      {"slot", step.slot},
                      {"after", step.after},
                      {"bytes", step.bytes}};
    if (step.action == Action::combine) {
        said["left"] = step.left == Left::own ? "own" : "received";
    }
    said["data"] = std::move(data);
    return said;
}

void say_schedule(const Algorithm& algorithm, const Schedule& schedule, const SayJson& say) {
    const Parameters& parameters = schedule.parameters();
    say({{"record", "schedule"},
         {"algorithm", algorithm.name},
         {"family", family_name(algorithm.family)},
         {"summary", algorithm.summary},
         {"ranks", parameters.ranks},
         {"root", parameters.root},
         {"block_bytes", parameters.block_bytes},
         {"segment_bytes", parameters.segment_bytes},
         {"sizes", !parameters.sizes.empty()},
         {"blocks", schedule.layout().blocks()},
         {"window", schedule.window()},
         {"hierarchy", parameters.hierarchy},
         {"claims", claims_json(schedule.claims())}});
}

// One rank's first steps, so many at most. Returns how many, and whether there are more.
std::pair<std::int64_t, bool> say_steps(const Schedule& schedule, Rank rank, std::int64_t limit,
                                        const SayJson& say) {
    const auto steps = schedule.steps(rank);
    Step step;
    std::int64_t number = 0;
    for (; steps->next(step); ++number) {
        if (number == limit) {
            return {number, true};
        }
        say(step_json(rank, number, step));
    }
    return {number, false};
}

// The first `limit` steps of one rank, or of each of the first `ranks_below`.
void show(Fields fields, const SayJson& say) {
    Asked asked = read_asked(fields);
    const auto ranks = static_cast<Rank>(fields.integer("ranks", 1, most_ranks));
    asked.parameters.ranks = ranks;
    const auto only = fields.optional_integer("rank", 0, ranks - 1);
    const auto below = fields.optional_integer("ranks_below", 1, ranks).value_or(ranks);
    const std::int64_t limit =
        fields.optional_integer("limit", 1, most_shown_steps).value_or(most_shown_steps);
    fields.finish();
    const Algorithm& algorithm = find_algorithm(asked);
    const auto schedule = make_schedule(algorithm.name, asked.parameters);
    say_schedule(algorithm, *schedule, say);
    bool more = false;
    const std::int64_t end = only ? *only + 1 : below;
    std::int64_t left = most_shown_steps;
    for (auto rank = static_cast<Rank>(only.value_or(0)); rank < end; ++rank) {
        const auto [said, cut] = say_steps(*schedule, rank, std::min(limit, left), say);
        left -= said;
        more = more || cut;
    }
    say({{"record", "end"}, {"more_steps", more}, {"more_ranks", !only && below < ranks}});
}

// The algorithms that a check is about: all, a family's, or one.
std::vector<const Algorithm*> checked_algorithms(const std::string& name) {
    std::vector<const Algorithm*> chosen;
    const auto family = find_family(name);
    for (const Algorithm& algorithm : algorithms()) {
        if (name == "all" || family == algorithm.family || algorithm.name == name) {
            chosen.push_back(&algorithm);
        }
    }
    if (chosen.empty()) {
        (void)find_algorithm(name); // says what there is
    }
    return chosen;
}

std::vector<Rank> checked_ranks(Fields& fields) {
    std::vector<Rank> ranks;
    for (const nlohmann::json& entry : fields.list("ranks", most_rank_counts)) {
        if (!entry.is_number_integer() || entry < 1 || entry > most_checked_ranks) {
            throw Failure("bad_request", "request: each of ranks must be an integer from 1 to " +
                                             std::to_string(most_checked_ranks) + ", not " +
                                             entry.dump());
        }
        ranks.push_back(entry.get<Rank>());
    }
    if (ranks.empty()) {
        throw Failure("bad_request", "request: ranks must be an array of at least one number");
    }
    return ranks;
}

ordered_json proof_json(const Algorithm& algorithm, Rank ranks, const Proof& proof) {
    const TrafficCounts& counts = proof.asked.counts;
    return {{"record", "check"},
            {"algorithm", algorithm.name},
            {"ranks", ranks},
            {"good", proof.problem_count == 0},
            {"cases", proof.cases},
            {"rounds", counts.rounds},
            {"stalls", counts.stalls},
            {"fan_out", counts.fan_out},
            {"slots", counts.slots},
            {"messages", counts.messages},
            {"busiest_messages", counts.busiest_messages},
            {"busiest_bytes", counts.busiest_bytes},
            {"most_to_rank_in_slot", counts.most_to_rank},
            {"problem_count", proof.problem_count},
            {"problems", proof.problems}};
}

// Each algorithm at each number of ranks: as it was asked for, and the cases that stand for all.
void check(Fields fields, const SayJson& say) {
    Asked asked = read_asked(fields);
    const std::vector<Rank> ranks = checked_ranks(fields);
    const bool asked_only = fields.flag("asked_only", false);
    fields.finish();
    const bool one = asked.algorithm.find('/') != std::string::npos;
    for (const Algorithm* algorithm : checked_algorithms(asked.algorithm)) {
        for (const Rank count : ranks) {
            if (!possible(*algorithm, count) && !one) {
                continue;
            }
            asked.parameters.ranks = count;
            if (one) {
                check(*algorithm, asked.parameters); // nothing of it is left out silently
            }
            std::vector<Variant> cases = variants(*algorithm, asked.parameters);
            cases.resize(asked_only ? 1 : cases.size());
            say(proof_json(*algorithm, count, prove(*algorithm, cases)));
        }
    }
    say({{"record", "end"}});
}

} // namespace

void answer_schedule_request(Fields fields, const SayJson& say) {
    const std::string verb = fields.text("verb", 32);
    if (verb == "list") {
        list(fields, say);
    } else if (verb == "show") {
        show(std::move(fields), say);
    } else if (verb == "check") {
        check(std::move(fields), say);
    } else {
        throw Failure("bad_request", "request: verb is " + verb + ", there are list, show, check");
    }
}

} // namespace sonde
