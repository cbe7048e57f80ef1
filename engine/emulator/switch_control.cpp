#include "emulator/switch_control.hpp"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "emulator/probe.hpp"

namespace sonde {

namespace {

using nlohmann::json;

constexpr std::int64_t most_echoes = 200;
constexpr std::int64_t least_echoes = 20;
constexpr std::int64_t calibration_ns = 1'000'000'000; // about, where round trips are short
constexpr std::int64_t calibration_pause_ns = 200'000;
// So that echoes come back in a tenth of a second or so, however slow the links are.
constexpr std::int64_t most_calibration_delay_ns = 25'000'000;
constexpr std::int64_t least_calibration_rate_bit_per_s = 1'000'000;
constexpr std::uint32_t echo_frame_bytes = 98; // 14 Ethernet, 20 IP, 64 ICMP
constexpr std::size_t most_changes = 10'000;

std::int64_t unix_now_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

json line_json(const LineCounters& c) {
    return {{"frames", c.frames},           {"bytes", c.bytes},
            {"lost_random", c.lost_random}, {"lost_burst", c.lost_burst},
            {"lost_every", c.lost_every},   {"lost_bit_error", c.lost_bit_error},
            {"duplicated", c.duplicated},   {"held_back", c.held_back},
            {"arrived", c.arrived},         {"arrived_bytes", c.arrived_bytes},
            {"oversize", c.oversize}};
}

json port_json(const PortCounters& c) {
    return {{"received", c.received},           {"malformed", c.malformed},
            {"filtered", c.filtered},           {"flooded", c.flooded},
            {"forwarded", c.forwarded},         {"dropped", c.dropped},
            {"dropped_bytes", c.dropped_bytes}, {"pauses", c.pauses},
            {"most_packets", c.most_packets},   {"most_bytes", c.most_bytes}};
}

json loop_json(const LoopFacts& f) {
    return {{"elapsed_ns", f.elapsed_ns},         {"cpu_ns", f.cpu_ns},
            {"kernel_ns", f.kernel_ns},           {"passes", f.passes},
            {"read_frames", f.read_frames},       {"written_frames", f.written_frames},
            {"refused_frames", f.refused_frames}, {"pool_full", f.pool_full},
            {"frames_inside", f.frames_inside},   {"pass_cost_ns", f.pass_cost_ns}};
}

json lateness_json(const Lateness& lateness) {
    json histogram = json::array();
    for (std::size_t bucket = 0; bucket < Lateness::buckets; ++bucket) {
        if (lateness.counts()[bucket] > 0) {
            histogram.push_back({Lateness::upper_ns(bucket), lateness.counts()[bucket]});
        }
    }
    return {{"limit_ns", lateness.limit_ns()},         {"frames", lateness.frames()},
            {"beyond_limit", lateness.beyond_limit()}, {"median_ns", lateness.quantile_ns(0.5)},
            {"p99_ns", lateness.quantile_ns(0.99)},    {"most_ns", lateness.most_ns()},
            {"histogram", std::move(histogram)}};
}

// What one host would get of a frame of another, in virtual time.
class FirstArrival : public FabricExit {
public:
    explicit FirstArrival(std::uint32_t host) : host_(host) {}
    void deliver(std::uint32_t host, FrameIndex /*frame*/, VirtualTime at) override {
        at_ = host == host_ ? at : at_;
    }
    [[nodiscard]] VirtualTime at() const noexcept { return at_; }

private:
    std::uint32_t host_;
    VirtualTime at_ = 0;
};

std::int64_t modelled_one_way_ns(const Topology& topology, std::uint32_t from, std::uint32_t to) {
    FramePool frames(2048, 1);
    FirstArrival arrival(to);
    Fabric fabric(topology, frames, arrival);
    const FrameIndex frame = frames.take().value();
    const auto room = frames.room(frame);
    std::fill(room.begin(), room.begin() + address_bytes, std::byte{0xff});
    std::fill(room.begin() + address_bytes, room.begin() + 2 * address_bytes, std::byte{2});
    frames.set_length(frame, echo_frame_bytes);
    fabric.send(from, frame, 0);
    fabric.advance(from_ns(60'000'000'000));
    return to_ns(arrival.at());
}

class SwitchControl {
public:
    SwitchControl(SwitchLoop& loop, std::vector<Descriptor> networks)
        : loop_(loop), topology_(loop.fabric().topology()), networks_(std::move(networks)) {}

    json stats(Request& request) {
        const bool forget = request.fields.flag("forget_lateness", false);
        request.fields.finish();
        LoopFacts facts;
        Lateness lateness(0);
        bool open = false;
        std::vector<LineCounters> lines;
        std::vector<PortCounters> ports;
        loop_.call([&] { // copies only: what takes time is done on this thread
            facts = loop_.facts();
            lateness = loop_.lateness();
            open = loop_.fabric().gate_open();
            for (std::size_t link = 0; link < topology_.links.size(); ++link) {
                lines.push_back(loop_.fabric().line_counters(link, true));
                lines.push_back(loop_.fabric().line_counters(link, false));
                ports.push_back(loop_.fabric().port_counters(link, true));
                ports.push_back(topology_.links[link].from_host
                                    ? PortCounters{}
                                    : loop_.fabric().port_counters(link, false));
            }
            if (forget) {
                loop_.forget_lateness();
            }
        });
        json links = json::array();
        for (std::size_t link = 0; link < topology_.links.size(); ++link) {
            json entry{{"name", topology_.links[link].name},
                       {"up", line_json(lines[2 * link])},
                       {"down", line_json(lines[2 * link + 1])},
                       {"upper_port", port_json(ports[2 * link])}};
            if (!topology_.links[link].from_host) {
                entry["lower_port"] = port_json(ports[2 * link + 1]);
            }
            links.push_back(std::move(entry));
        }
        return {{"unix_ns", unix_now_ns()},  {"gate_open", open},
                {"loop", loop_json(facts)},  {"lateness", lateness_json(lateness)},
                {"links", std::move(links)}, {"changes", changes_}};
    }

    json set(Request& request) {
        const std::string name = request.fields.text("link", 80);
        const std::string direction = request.fields.optional_text("direction").value_or("both");
        const json given = json::parse(request.line)["line"];
        Fields line = request.fields.object("line");
        request.fields.finish();
        if (direction != "both" && direction != "up" && direction != "down") {
            throw Failure("bad_request",
                          "direction is " + direction + "; it can be up, down, both");
        }
        const std::size_t link = link_called(name);
        const std::int64_t most_mtu = topology_.most_mtu_bytes();
        std::int64_t at = 0;
        loop_.call([&] {
            for (const bool up : {true, false}) {
                if (direction == (up ? "down" : "up")) {
                    continue;
                }
                const LinePlan plan = read_line(line, loop_.fabric().line_plan(link, up));
                if (plan.mtu_bytes > most_mtu) {
                    throw Failure("bad_request", "the MTU can be lowered, not raised beyond the " +
                                                     std::to_string(most_mtu) +
                                                     " bytes that the switch began with");
                }
                loop_.fabric().set_line(link, up, plan);
            }
            at = unix_now_ns();
        });
        return note_change(at, {{"link", name}, {"direction", direction}, {"line", given}});
    }

    json gate(Request& request) {
        const bool open = request.fields.optional_flag("open").value_or(true);
        request.fields.finish();
        std::int64_t at = 0;
        loop_.call([&] {
            if (open) {
                loop_.open_gate();
            } else {
                loop_.close_gate();
            }
            at = unix_now_ns();
        });
        return note_change(at, {{"gate", open ? "open" : "closed"}});
    }

    // Echoes between two hosts over links that do nothing but carry and delay them; the excess over
    // the model is the cost of the two passes through this machine. With the delays that are set,
    // because caches are colder after a longer wait.
    json calibrate(Request& request) {
        const std::uint32_t from = host_called(request.fields.text("from"));
        const std::uint32_t to = host_called(request.fields.text("to"));
        const std::string address = request.fields.text("address");
        request.fields.finish();
        const Topology model = plain_topology();
        const std::int64_t modelled =
            modelled_one_way_ns(model, from, to) + modelled_one_way_ns(model, to, from);
        const std::int64_t echoes = std::clamp(calibration_ns / (modelled + calibration_pause_ns),
                                               least_echoes, most_echoes);
        const std::vector<LinePlan> before = plain_links();
        std::vector<std::int64_t> round_trips;
        try {
            round_trips = echo_round_trips_ns(networks_[from].get(), address,
                                              static_cast<int>(echoes), calibration_pause_ns);
        } catch (...) {
            restore_links(before, 0);
            throw;
        }
        if (static_cast<std::int64_t>(round_trips.size()) < echoes / 2) {
            restore_links(before, 0);
            throw Failure("system", "the echoes of the calibration were not answered");
        }
        std::sort(round_trips.begin(), round_trips.end());
        const std::int64_t median = round_trips[round_trips.size() / 2];
        const std::int64_t cost = std::max<std::int64_t>((median - modelled) / 2, 0);
        restore_links(before, cost);
        return {{"echoes", round_trips.size()},
                {"modelled_round_trip_ns", modelled},
                {"median_round_trip_ns", median},
                {"least_round_trip_ns", round_trips.front()},
                {"pass_cost_ns", cost}};
    }

    json carrier(Request& request) {
        const std::string name = request.fields.text("host");
        const std::uint32_t host = host_called(name);
        const bool up = request.fields.optional_flag("up").value_or(true);
        request.fields.finish();
        loop_.call([&] { loop_.set_carrier(host, up); });
        return note_change(unix_now_ns(), {{"host", name}, {"cable", up ? "in" : "out"}});
    }

    json capture(Request& request, ControlClient& client) {
        const std::uint32_t host = host_called(request.fields.text("host"));
        const auto most_bytes = static_cast<std::uint64_t>(
            request.fields.integer("most_bytes", 1, std::int64_t{1} << 50U));
        request.fields.finish();
        if (!client.passed) {
            throw Failure("bad_request", "capture: no file came with the request");
        }
        auto writer =
            std::make_shared<Capture>(std::move(client.passed), topology_.hosts[host], most_bytes);
        loop_.call([&] { loop_.set_capture(host, writer); });
        // Ends with the connection.
        client.tied = std::shared_ptr<void>(nullptr, [this, host, writer](void* /*none*/) {
            try {
                loop_.call([&] { loop_.end_capture(host, writer); });
            } catch (const Failure&) { // NOLINT: the loop has ended, and the capture with it
            }
        });
        return {{"host", topology_.hosts[host]}};
    }

private:
    std::size_t link_called(const std::string& name) const {
        for (std::size_t link = 0; link < topology_.links.size(); ++link) {
            if (topology_.links[link].name == name) {
                return link;
            }
        }
        throw Failure("bad_request", "no link is called " + name);
    }

    std::uint32_t host_called(const std::string& name) const {
        const auto found = std::find(topology_.hosts.begin(), topology_.hosts.end(), name);
        if (found == topology_.hosts.end()) {
            throw Failure("bad_request", "no host is called " + name);
        }
        return static_cast<std::uint32_t>(found - topology_.hosts.begin());
    }

    json note_change(std::int64_t unix_ns, json change) {
        change["unix_ns"] = unix_ns;
        if (changes_.size() < most_changes) {
            changes_.push_back(change);
        }
        return change;
    }

    static LinePlan plain(const LinePlan& plan) {
        LinePlan result;
        result.rate_bit_per_s = std::max(plan.rate_bit_per_s, least_calibration_rate_bit_per_s);
        result.mtu_bytes = plan.mtu_bytes;
        result.delay_ns = std::min(plan.delay_ns, most_calibration_delay_ns);
        return result;
    }

    Topology plain_topology() {
        Topology result = topology_;
        loop_.call([&] {
            for (std::size_t link = 0; link < result.links.size(); ++link) {
                result.links[link].up = plain(loop_.fabric().line_plan(link, true));
                result.links[link].down = plain(loop_.fabric().line_plan(link, false));
            }
        });
        return result;
    }

    std::vector<LinePlan> plain_links() {
        std::vector<LinePlan> before;
        loop_.call([&] {
            for (std::size_t link = 0; link < topology_.links.size(); ++link) {
                for (const bool up : {true, false}) {
                    before.push_back(loop_.fabric().line_plan(link, up));
                    loop_.fabric().set_line(link, up, plain(before.back()));
                }
            }
            loop_.set_pass_cost(0);
        });
        return before;
    }

    void restore_links(const std::vector<LinePlan>& before, std::int64_t pass_cost_ns) {
        loop_.call([&] {
            for (std::size_t link = 0; link < topology_.links.size(); ++link) {
                loop_.fabric().set_line(link, true, before[2 * link]);
                loop_.fabric().set_line(link, false, before[2 * link + 1]);
            }
            loop_.set_pass_cost(pass_cost_ns);
            loop_.forget_lateness(); // of the echoes
            loop_.fabric().forget_counters();
        });
    }

    SwitchLoop& loop_;
    const Topology topology_;
    std::vector<Descriptor> networks_; // of each host
    json changes_ = json::array();
};

} // namespace

std::map<std::string, ControlHandler> switch_verbs(SwitchLoop& loop,
                                                   std::vector<Descriptor> networks) {
    auto control = std::make_shared<SwitchControl>(loop, std::move(networks));
    const auto plainly = [control](json (SwitchControl::*verb)(Request&)) {
        return [control, verb](Request& request, ControlClient& /*client*/) {
            return (control.get()->*verb)(request);
        };
    };
    return {{"stats", plainly(&SwitchControl::stats)},
            {"set", plainly(&SwitchControl::set)},
            {"gate", plainly(&SwitchControl::gate)},
            {"calibrate", plainly(&SwitchControl::calibrate)},
            {"carrier", plainly(&SwitchControl::carrier)},
            {"capture", [control](Request& request, ControlClient& client) {
                 return control->capture(request, client);
             }}};
}

} // namespace sonde
