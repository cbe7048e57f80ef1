#include "tuned/rules.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/failure.hpp"
#include "core/json_object.hpp"
#include "core/request.hpp"
#include "schedule/words.hpp"

namespace sonde::tuned {

namespace {

using nlohmann::json;

constexpr std::string_view rules_format = "netsonde rules";
constexpr std::int64_t rules_version = 1;
constexpr std::int64_t most_bytes = std::int64_t{1} << 53U; // what JSON's numbers hold exactly

bool passes_on(std::string_view algorithm) {
    constexpr std::string_view of_library = "library:";
    return algorithm == "native" ||
           (algorithm.starts_with(of_library) && algorithm.size() > of_library.size());
}

// Refuses what so many ranks cannot have at all.
void take_algorithm(Rule& rule) {
    const OperationRow& row = row_of(rule.operation);
    const schedule::Asked asked = schedule::read_words(rule.algorithm, row.family);
    rule.schedule = &schedule::find_algorithm(asked.algorithm);
    rule.parameters = asked.parameters;
    rule.parameters.ranks = rule.ranks;
    schedule::check(*rule.schedule, rule.parameters);
    if (row.is_uneven && !rule.schedule->uses.sizes) {
        throw Failure("bad_request", asked.algorithm + " has no use for unequal sizes, so " +
                                         std::string(row.name) + " cannot have it");
    }
}

std::optional<Rule> read_rule(const json& object, std::size_t number) {
    const std::string context = "rule " + std::to_string(number);
    Fields fields(object, context);
    const std::string name = fields.text("operation", 64);
    Rule rule;
    rule.ranks = static_cast<schedule::Rank>(fields.integer("ranks", 1, schedule::most_ranks));
    if (const auto each = fields.optional_integer("ranks_per_host", 1, schedule::most_ranks)) {
        rule.ranks_per_host = static_cast<schedule::Rank>(*each);
    }
    rule.from_bytes = fields.optional_integer("from_bytes", 0, most_bytes).value_or(0);
    rule.to_bytes =
        fields.optional_integer("to_bytes", rule.from_bytes, most_bytes).value_or(rule.to_bytes);
    rule.algorithm = fields.text("algorithm", 256);
    fields.finish();
    const auto operation = find_operation(name);
    if (!operation) {
        if (passes_on(rule.algorithm)) {
            return std::nullopt;
        }
        throw Failure("bad_request", context + ": there are no schedules of an operation '" + name +
                                         "', so it is native or library:NAME");
    }
    rule.operation = *operation;
    if (!passes_on(rule.algorithm)) {
        try {
            take_algorithm(rule);
        } catch (const Failure& failure) {
            throw Failure("bad_request", context + ": " + failure.what());
        }
    }
    return rule;
}

} // namespace

std::vector<Rule> read_rules(std::string_view text) {
    json document = parse_json_object(std::string(text), "rules");
    document.erase("made"); // what it was made from: free
    Fields fields(std::move(document), "rules");
    if (const std::string format = fields.text("format"); format != rules_format) {
        throw Failure("bad_request",
                      "their format is '" + format + "', not '" + std::string(rules_format) + "'");
    }
    static_cast<void>(fields.integer("version", rules_version, rules_version));
    if (!fields.has("rules")) {
        throw Failure("bad_request", "rules: there is no list 'rules'");
    }
    std::vector<Rule> rules;
    std::size_t number = 0;
    for (const json& object : fields.list("rules", most_rules)) {
        if (auto rule = read_rule(object, ++number)) {
            rules.push_back(std::move(*rule));
        }
    }
    fields.finish();
    return rules;
}

std::string text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw system_failure("be read");
    }
    std::string text;
    std::array<char, 65536> part{};
    while (file.read(part.data(), part.size()) || file.gcount() > 0) {
        text.append(part.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > most_rules_bytes) {
            throw Failure("bad_request", "they are more than 64 MiB");
        }
    }
    if (file.bad()) {
        throw system_failure("be read");
    }
    return text;
}

FittingRules::FittingRules(const std::vector<Rule>& rules, schedule::Rank ranks,
                           schedule::Rank ranks_per_host) {
    for (const Rule& rule : rules) {
        if (rule.ranks == ranks && rule.ranks_per_host.value_or(ranks_per_host) == ranks_per_host) {
            of_[static_cast<std::size_t>(rule.operation)].push_back(&rule);
            any_ = any_ || rule.schedule != nullptr;
        }
    }
}

const Rule* FittingRules::find(Operation operation, std::int64_t bytes) const noexcept {
    for (const Rule* rule : of_[static_cast<std::size_t>(operation)]) {
        if (bytes >= rule->from_bytes && bytes <= rule->to_bytes) {
            return rule;
        }
    }
    return nullptr;
}

const Rule* FittingRules::for_all_sizes(Operation operation) const noexcept {
    const auto& rules = of_[static_cast<std::size_t>(operation)];
    const bool is_for_all = !rules.empty() && rules.front()->from_bytes == 0 &&
                            rules.front()->to_bytes == Rule{}.to_bytes;
    return is_for_all ? rules.front() : nullptr;
}

} // namespace sonde::tuned
