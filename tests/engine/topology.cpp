// Topologies and lines as they come in requests: what is taken, and what is refused with a reason.
#include "fabric/topology.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"

using namespace sonde;
using nlohmann::json;

TEST_SUITE_BEGIN("topology");

namespace {

void check_line_refused(const json& line, const std::string& words) {
    INFO(line.dump());
    std::string said = "accepted";
    try {
        (void)read_line(Fields(line, "line"), LinePlan{});
    } catch (const Failure& failure) {
        CHECK(failure.code() == "bad_request");
        said = failure.what();
    }
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
}

json link_json(const std::string& lower, const std::string& upper) {
    return {{"name", lower + "-" + upper}, {"lower", lower}, {"upper", upper}};
}

json star_json(std::size_t hosts) {
    json star{{"hosts", json::array()},
              {"switches", {{{"name", "s"}, {"architecture", "shared"}}}},
              {"links", json::array()}};
    for (std::size_t host = 0; host < hosts; ++host) {
        const std::string name = std::string("h").append(std::to_string(host));
        star["hosts"].push_back(name);
        star["links"].push_back(link_json(name, "s"));
    }
    return star;
}

void check_refused(const json& topology, const std::string& words) {
    std::string said = "accepted";
    try {
        (void)read_topology(Fields(topology, "topology"));
    } catch (const Failure& failure) {
        said = failure.what();
    }
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
}

} // namespace

TEST_CASE("a line keeps what is not given") {
    LinePlan base;
    base.loss_ratio = 0.25;
    base.jitter.mean_ns = 7;
    const LinePlan line = read_line(Fields(json{{"delay_ns", 1000}, {"loss_every", 3}}), base);
    CHECK(line.delay_ns == 1000);
    CHECK(line.loss_every == 3);
    CHECK(line.loss_ratio == 0.25);
    CHECK(line.jitter.mean_ns == 7);
    CHECK(line.rate_bit_per_s == base.rate_bit_per_s);
    const json jitter{{"distribution", "pareto"}, {"mean_ns", 500}, {"keep_order", false}};
    const LinePlan late = read_line(Fields(json{{"jitter", jitter}}), line);
    CHECK(late.jitter.shape == JitterShape::pareto);
    CHECK(late.jitter.mean_ns == 500);
    CHECK(!late.jitter.keep_order);
}

TEST_CASE("a line that cannot be is refused by the name of what is wrong") {
    const std::vector<std::pair<std::string, json>> wrong{{"rate_bit_per_s", 999},
                                                          {"rate_bit_per_s", 100'000'000'001},
                                                          {"rate_bit_per_s", 1e9},
                                                          {"rate_bit_per_s", "1G"},
                                                          {"delay_ns", -1},
                                                          {"delay_ns", 10'000'000'001},
                                                          {"delay_ns", 18446744073709551615ULL},
                                                          {"mtu_bytes", 67},
                                                          {"mtu_bytes", 65'522},
                                                          {"loss_ratio", 1.01},
                                                          {"loss_ratio", -0.1},
                                                          {"loss_ratio", nullptr},
                                                          {"loss_every", -1},
                                                          {"bit_error_ratio", 0.6},
                                                          {"duplicate_ratio", 2},
                                                          {"reorder_ratio", "often"},
                                                          {"reorder_delay_ns", -5},
                                                          {"colour", "red"}};
    for (const auto& [name, value] : wrong) {
        check_line_refused({{name, value}}, name);
    }
    check_line_refused({{"burst", {{"enter_ratio", 1.5}}}}, "enter_ratio");
    check_line_refused({{"burst", {{"length", 3}}}}, "unknown field length");
    check_line_refused({{"burst", 3}}, "line.burst");
    check_line_refused({{"jitter", json::object()}}, "distribution is missing");
    check_line_refused({{"jitter", {{"distribution", "gamma"}}}}, "there are none, uniform");
    check_line_refused({{"jitter", {{"distribution", "pareto"}, {"tail_index", 1.0}}}},
                       "tail_index");
    check_line_refused({{"jitter", {{"distribution", "normal"}, {"mean_ns", -1}}}}, "mean_ns");
    CHECK_THROWS_AS((void)read_line(Fields(json(3)), LinePlan{}), Failure);
}

TEST_CASE("a topology without a host, a switch or room is refused") {
    CHECK(read_topology(Fields(star_json(128))).hosts.size() == 128);
    check_refused(star_json(129), "s has too many links");
    check_refused(star_json(257), "hosts must be an array of at most 256");
    check_refused(star_json(0), "needs a host and a switch");
    json none = star_json(1);
    none["switches"] = json::array();
    check_refused(none, "needs a host and a switch");
    CHECK_THROWS_AS((void)read_topology(Fields(json::object())), Failure);
}

TEST_CASE("links lead up to switches, each host has one and names are short") {
    json star = star_json(2);
    star["links"][1] = link_json("s", "h1");
    check_refused(star, "must lead up to a switch");
    star["links"][1] = link_json("s", "s");
    check_refused(star, "closes a loop");
    star = star_json(1);
    star["switches"].push_back({{"name", "t"}, {"architecture", "input"}});
    star["links"].push_back(link_json("h0", "t"));
    check_refused(star, "h0 has too many links");
    star = star_json(1);
    star["hosts"][0] = 5;
    check_refused(star, "must be a short string");
    star["hosts"][0] = std::string(33, 'h');
    check_refused(star, "must be a short string");
    star["hosts"][0] = "";
    check_refused(star, "name");
}

TEST_CASE("a pause's marks are in order and a switch's capacity is something") {
    json star = star_json(1);
    star["switches"][0]["pause"] = {{"high_packets", 5}, {"low_packets", 4}};
    CHECK(read_topology(Fields(star)).switches[0].pause->low_packets == 4);
    star["switches"][0]["pause"]["low_packets"] = 5;
    check_refused(star, "low_packets");
    star["switches"][0].erase("pause");
    star["switches"][0]["capacity_packets"] = 0;
    check_refused(star, "capacity_packets");
}

TEST_SUITE_END();
