// Windows as they come in requests: given, or from the buffers of uplinks.
#include "schedule/read_window.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/failure.hpp"
#include "schedule/read.hpp"

using namespace sonde::schedule;
using nlohmann::json;

TEST_SUITE_BEGIN("alltoall_window");

namespace {

std::int64_t window(const std::vector<Rank>& hierarchy, const json& request) {
    Parameters parameters;
    parameters.hierarchy = hierarchy;
    sonde::Fields fields(request);
    const std::int64_t packets = read_window(fields, parameters);
    fields.finish();
    return packets;
}

std::string refusal(const std::vector<Rank>& hierarchy, const json& request) {
    try {
        (void)window(hierarchy, request);
    } catch (const sonde::Failure& failure) {
        CHECK(failure.code() == "bad_request");
        return failure.what();
    }
    return "accepted";
}

void check_refused(const std::vector<Rank>& hierarchy, const json& request,
                   const std::string& words) {
    const std::string said = refusal(hierarchy, request);
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
}

} // namespace

TEST_CASE("a window is given, or follows from the uplinks' buffers") {
    CHECK(window({}, json::object()) == 0);
    CHECK(window({}, {{"window", 7}}) == 7);
    CHECK(window({8, 2}, {{"uplink_buffer_packets", {45}}}) == 5);
    CHECK(window({8, 2}, {{"uplink_buffer_packets", {45}}, {"control_traffic", false}}) == 10);
    CHECK(window({8, 4}, {{"uplink_buffer_packets", {45}}, {"control_traffic", true}}) == 3);
    // The narrowest of two levels; see the same tree in alltoall_hierarchy.
    CHECK(window({4, 3, 2}, {{"uplink_buffer_packets", {45, 45}}}) == 3);
    CHECK(window({4, 3, 2}, {{"uplink_buffer_packets", {45, 450}}}) == 6);
}

// Eq. (6.1) of a port: one packet a step, answered by one. Of the root of 4x4: 48 of its 15 steps'
// packets go by each of 4 links, that share the buffer.
TEST_CASE("a window follows from a port's buffer, or the root's") {
    CHECK(window({}, {{"port_buffer_packets", 43}}) == 21);
    CHECK(window({}, {{"port_buffer_packets", 43}, {"control_traffic", false}}) == 43);
    CHECK(window({4, 4}, {{"port_buffer_packets", 43}}) == 21);
    CHECK(window({4, 4}, {{"root_buffer_packets", 128}, {"control_traffic", false}}) == 10);
    CHECK(window({4, 4}, {{"root_buffer_packets", 128}}) == 5);
    CHECK(window({8, 2}, {{"uplink_buffer_packets", {45}}, {"port_buffer_packets", 8}}) == 4);
    CHECK(window({8, 2}, {{"uplink_buffer_packets", {45}}, {"root_buffer_packets", 820}}) == 5);
}

TEST_CASE("a window that is given counts") {
    CHECK(window({6, 4}, {{"uplink_buffer_packets", {45}}, {"window", 5}}) == 5);
    CHECK(window({64, 64}, {{"uplink_buffer_packets", {45}}, {"window", 1}}) == 1);
    CHECK(window({6, 4}, {{"uplink_buffer_packets", {45}}, {"window", 0}}) == 0);
}

TEST_CASE("windows that cannot be found are refused") {
    check_refused({8, 2}, {{"uplink_buffer_packets", {45, 45}}}, "2 numbers");
    check_refused({}, {{"uplink_buffer_packets", {45}}}, "0 levels");
    check_refused({16, 1}, {{"uplink_buffer_packets", {45}}}, "carries anything");
    check_refused({64, 64}, {{"uplink_buffer_packets", {45}}}, "level 1 can hold");
    check_refused({8, 2}, {{"uplink_buffer_packets", {0}}}, "not 0");
    check_refused({8, 2}, {{"uplink_buffer_packets", {"45"}}}, "not \"45\"");
    check_refused({8, 2}, {{"uplink_buffer_packets", {1e300}}}, "an integer");
    check_refused({8, 2}, {{"uplink_buffer_packets", {18446744073709551615ULL}}}, "an integer");
    check_refused({8, 2}, {{"uplink_buffer_packets", 45}}, "uplink_buffer_packets");
    check_refused({8, 2}, {{"control_traffic", true}}, "of use with");
    check_refused({}, {{"root_buffer_packets", 820}}, "2 levels");
    check_refused({8, 2}, {{"port_buffer_packets", 1}}, "a host's port can hold");
    check_refused({8, 2}, {{"window", -1}}, "window");
}

TEST_CASE("a request's hierarchy is that of its window") {
    sonde::Fields fields(json{{"algorithm", "alltoall/modified-shuffle"},
                              {"uplink_buffer_packets", {45}},
                              {"remap", true},
                              {"hierarchy", {8, 3}}});
    const Asked asked = read_asked(fields);
    fields.finish();
    CHECK(asked.parameters.window == 4);
    CHECK(asked.parameters.remap);
}

TEST_SUITE_END();
