#include "schedule/read.hpp"

#include <array>
#include <utility>

#include "core/failure.hpp"
#include "schedule/read_window.hpp"

namespace sonde::schedule {

namespace {

using nlohmann::json;

constexpr std::array permutations{Permutation::shift, Permutation::exclusive_or,
                                  Permutation::edge_colour};

std::int64_t element(const json& value, std::string_view list) {
    if (!value.is_number_integer() || value.get<double>() > 9e15) {
        throw Failure("bad_request", "request: each of " + std::string(list) +
                                         " must be an integer, not " + value.dump());
    }
    return value.get<std::int64_t>();
}

void read_sizes(Fields& fields, Parameters& parameters) {
    const auto packets = fields.optional_integer("block_packets", 0, most_segments);
    const auto bytes = fields.optional_integer("block_bytes", 0, most_block_bytes);
    const auto segment = fields.optional_integer("segment_bytes", 0, most_block_bytes);
    if (packets && bytes) {
        throw Failure("bad_request", "request: block_packets and block_bytes exclude each other");
    }
    if (packets) {
        parameters.segment_bytes = segment.value_or(default_packet_bytes);
        if (parameters.segment_bytes == 0 ||
            *packets > most_block_bytes / parameters.segment_bytes) {
            throw Failure("bad_request",
                          "request: block_packets needs a segment_bytes from 1 on, and blocks of "
                          "at most 1 TiB");
        }
        parameters.block_bytes = *packets * parameters.segment_bytes;
    } else {
        parameters.segment_bytes = segment.value_or(0);
        parameters.block_bytes = bytes.value_or(0);
    }
    constexpr auto most_sizes = std::size_t{most_ranks_of_pairs} * most_ranks_of_pairs;
    for (const json& size : fields.list("sizes", most_sizes)) {
        parameters.sizes.push_back(element(size, "sizes"));
    }
}

void read_network(Fields& fields, Parameters& parameters) {
    for (const json& degree : fields.list("hierarchy", most_levels)) {
        const std::int64_t value = element(degree, "hierarchy");
        if (value < 1 || value > most_ranks) {
            throw Failure("bad_request", "request: each of hierarchy must be from 1 to " +
                                             std::to_string(most_ranks) + ", not " +
                                             std::to_string(value));
        }
        parameters.hierarchy.push_back(static_cast<Rank>(value));
    }
    parameters.remap = fields.flag("remap", false);
    parameters.window = read_window(fields, parameters);
}

std::optional<Permutation> read_permutation(Fields& fields) {
    const auto name = fields.optional_text("permutation", 32);
    if (!name) {
        return std::nullopt;
    }
    for (const Permutation permutation : permutations) {
        if (permutation_name(permutation) == *name) {
            return permutation;
        }
    }
    throw Failure("bad_request",
                  "request: permutation is " + *name + ", there are shift, xor and edge-colour");
}

Choice read_choice(Fields& fields) {
    Choice choice;
    choice.user_operation = fields.flag("user_operation", false);
    Fields points = fields.object("switch_points");
    for (const SwitchPoint& point : switch_points()) {
        if (const auto value = points.optional_integer(point.name, 0, most_block_bytes)) {
            set_switch_point(choice.points, point.name, *value);
        }
    }
    points.finish();
    for (const json& name : fields.list("force", algorithms().size())) {
        const Algorithm& algorithm =
            find_algorithm(name.is_string() ? name.get<std::string>() : name.dump());
        if (!choice.forced.emplace(algorithm.family, algorithm.name).second) {
            throw Failure("bad_request", "request: force names two algorithms for " +
                                             std::string(family_name(algorithm.family)));
        }
    }
    return choice;
}

} // namespace

std::string_view permutation_name(Permutation permutation) {
    switch (permutation) {
    case Permutation::shift:
        return "shift";
    case Permutation::exclusive_or:
        return "xor";
    case Permutation::edge_colour:
        break;
    }
    return "edge-colour";
}

Asked read_asked(Fields& fields) {
    Asked asked;
    asked.algorithm = fields.text("algorithm", 64);
    Parameters& parameters = asked.parameters;
    parameters.root = static_cast<Rank>(fields.optional_integer("root", 0, most_ranks).value_or(0));
    read_sizes(fields, parameters);
    parameters.element_bytes = fields.optional_integer("element_bytes", 1, 65536).value_or(1);
    parameters.commutative = fields.flag("commutative", true);
    parameters.fan_out =
        static_cast<Rank>(fields.optional_integer("fan_out", 0, most_ranks).value_or(0));
    parameters.permutation = read_permutation(fields);
    read_network(fields, parameters);
    asked.choice = read_choice(fields);
    return asked;
}

const Algorithm& find_algorithm(const Asked& asked) {
    const auto family = find_family(asked.algorithm);
    return find_algorithm(family ? choose(*family, asked.parameters, asked.choice)
                                 : asked.algorithm);
}

} // namespace sonde::schedule
