#include "fuzz/fabric_play.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.hpp"
#include "fuzz/choices.hpp"

namespace sonde {

namespace {

constexpr std::size_t most_steps = 400;
constexpr std::size_t most_frame_bytes = 9018;
constexpr VirtualTime long_enough = 4'000'000'000'000'000'000; // for all that waits, at any rate

double choose_ratio(Choices& choices) {
    return choices.of(std::array{0.0, 0.001, 0.1, 0.5, 0.9, 1.0});
}

std::int64_t choose_delay_ns(Choices& choices) {
    return choices.of(std::array<std::int64_t, 10>{0, 0, 0, 1, 500, 7'000, 100'000, 3'000'000,
                                                   1'000'000'000, 10'000'000'000});
}

// ---- what is played on

Capacity choose_capacity(Choices& choices) {
    Capacity capacity;
    const std::uint32_t kind = choices.below(4);
    if (kind == 1 || kind == 3) {
        capacity.packets = 1 + choices.below(20);
    }
    if (kind >= 2) {
        capacity.bytes = 1 + choices.below(40'000);
    }
    return capacity;
}

void impair(Choices& choices, LinePlan& line) {
    line.loss_ratio = choose_ratio(choices);
    if (choices.flag()) {
        line.burst = BurstLoss{choose_ratio(choices), choose_ratio(choices), choose_ratio(choices),
                               choose_ratio(choices)};
    }
    line.loss_every = choices.below(5);
    line.bit_error_ratio = choices.of(std::array{0.0, 1e-9, 1e-5, 0.5});
    line.duplicate_ratio = choose_ratio(choices);
    line.reorder_ratio = choose_ratio(choices);
    line.reorder_delay_ns = choose_delay_ns(choices);
}

Jitter choose_jitter(Choices& choices) {
    Jitter jitter;
    jitter.shape = static_cast<JitterShape>(choices.below(5));
    jitter.mean_ns = choose_delay_ns(choices);
    jitter.deviation_ns = choose_delay_ns(choices);
    jitter.tail_index = choices.of(std::array{1.01, 3.0, 1000.0});
    return jitter;
}

// How much a fabric's lines do to frames; were all lines of all fabrics bad, little would arrive.
enum class Manners : std::uint8_t { plain, late, any };

LinePlan choose_line(Choices& choices, Manners manners) {
    LinePlan line;
    line.rate_bit_per_s = choices.of(std::array<std::int64_t, 8>{
        1'000'000'000, 100'000'000, 10'000'000, 1'000, 333'333, 1'000'003, 100'000'000'000, 9'600});
    line.delay_ns = choose_delay_ns(choices);
    line.mtu_bytes = choices.of(std::array<std::int64_t, 4>{1500, 68, 9000, 576});
    if (manners != Manners::plain && choices.flag()) {
        line.jitter = choose_jitter(choices);
        line.jitter.keep_order = manners == Manners::late || choices.flag();
    }
    if (manners == Manners::any && choices.flag()) {
        impair(choices, line);
    }
    return line;
}

SwitchPlan choose_switch(Choices& choices, std::size_t number) {
    SwitchPlan plan;
    plan.name = std::string("s").append(std::to_string(number));
    plan.architecture = static_cast<Architecture>(choices.below(3));
    plan.capacity = choose_capacity(choices);
    plan.port_cap = choose_capacity(choices);
    plan.cut_through = choices.flag();
    plan.latency_ns = choose_delay_ns(choices);
    if (choices.flag()) {
        const std::int64_t high = 1 + choices.below(10);
        plan.pause = PauseMarks{high, static_cast<std::int64_t>(choices.below(10)) % high};
    }
    return plan;
}

LinkPlan choose_link(Choices& choices, Manners manners, const std::string& lower,
                     const std::string& upper) {
    LinkPlan link;
    link.name = lower + "-" + upper;
    link.lower = lower;
    link.upper = upper;
    link.from_host = lower.front() == 'h';
    link.up = choose_line(choices, manners);
    link.down = choices.flag() ? choose_line(choices, manners) : link.up;
    link.lower_capacity = choose_capacity(choices);
    link.upper_capacity = choose_capacity(choices);
    return link;
}

Topology choose_topology(Choices& choices, Manners manners) {
    Topology topology;
    topology.seed = choices.byte();
    const std::size_t switches = 1 + choices.below(4);
    for (std::size_t number = 0; number < switches; ++number) {
        topology.switches.push_back(choose_switch(choices, number));
        if (number > 0) {
            const std::string& above =
                topology.switches[choices.below(static_cast<std::uint32_t>(number))].name;
            topology.links.push_back(
                choose_link(choices, manners, topology.switches.back().name, above));
        }
    }
    const std::size_t hosts = 1 + choices.below(6);
    for (std::size_t number = 0; number < hosts; ++number) {
        topology.hosts.push_back(std::string("h").append(std::to_string(number)));
        const std::string& at =
            topology.switches[choices.below(static_cast<std::uint32_t>(switches))].name;
        topology.links.push_back(choose_link(choices, manners, topology.hosts.back(), at));
    }
    return topology;
}

bool keeps_order(const LinePlan& line) {
    return line.jitter.keep_order && line.reorder_ratio == 0.0;
}

// ---- the play

class Play : public FabricExit {
public:
    explicit Play(Choices& choices)
        : choices_(choices), manners_(static_cast<Manners>(choices.below(3))),
          topology_(choose_topology(choices, manners_)),
          frames_(static_cast<std::size_t>(topology_.most_mtu_bytes()) + frame_header_bytes + 4, 1),
          fabric_(topology_, frames_, *this), sent_(topology_.hosts.size()) {
        for (const LinkPlan& link : topology_.links) {
            ordered_ = ordered_ && keeps_order(link.up) && keeps_order(link.down);
        }
    }

    void run() {
        for (std::size_t step = 0; step < most_steps && !choices_.used_up(); ++step) {
            take_step();
            check_buffers();
        }
        fabric_.open_gate(fabric_.now());
        advance(fabric_.now() + long_enough);
        check_settled();
    }

    void deliver(std::uint32_t host, FrameIndex frame, VirtualTime at) override {
        ++delivered_;
        require_that(at >= last_delivery_ && at >= earliest_ && at <= latest_,
                     "a frame came out at the wrong time");
        last_delivery_ = at;
        const Origin origin = origins_[frame];
        if (ordered_) {
            std::uint64_t& last = last_number_[{origin.host, host}];
            require_that(origin.number >= last, "frames changed their order");
            last = origin.number;
        }
    }

private:
    struct Origin {
        std::uint32_t host = 0;
        std::uint64_t number = 0;
    };

    void take_step() {
        const std::uint32_t kind = choices_.below(16);
        if (kind < 9) {
            send();
        } else if (kind < 12) {
            advance(fabric_.now() + from_ns(choose_delay_ns(choices_)) + choices_.below(1000));
        } else if (kind == 12) {
            fabric_.close_gate();
        } else if (kind == 13) {
            fabric_.open_gate(fabric_.now() + from_ns(choose_delay_ns(choices_)));
        } else if (kind == 14) {
            change_line();
        } else {
            fabric_.set_exit_credit(from_ns(choose_delay_ns(choices_)));
        }
    }

    void send() {
        const auto frame = frames_.take();
        if (!frame) {
            return;
        }
        const std::uint32_t host = choose_host();
        fill(frames_.room(*frame), host);
        frames_.set_length(*frame, choices_.below(most_frame_bytes + 1));
        origins_.resize(std::max<std::size_t>(origins_.size(), *frame + std::size_t{1}));
        origins_[*frame] = {host, ++number_};
        ++sent_[host];
        fabric_.send(host, *frame, fabric_.now() + from_ns(choose_delay_ns(choices_)));
    }

    // Mostly between stations that there are; some frames are to or from whatever else.
    void fill(std::span<std::byte> room, std::uint32_t host) {
        std::fill_n(room.begin(), 2 * address_bytes, std::byte{0});
        const std::uint32_t kind = choices_.below(16);
        room[0] = std::byte{2};
        room[5] = static_cast<std::byte>(choose_host());
        room[6] = std::byte{2};
        room[11] = static_cast<std::byte>(kind == 0 ? choose_host() : host);
        if (kind == 1) {
            std::fill_n(room.begin(), address_bytes, std::byte{0xff});
        } else if (kind == 2) {
            room[6] = std::byte{3}; // from a group
        } else if (kind == 3) {
            std::generate_n(room.begin(), 2 * address_bytes,
                            [this] { return static_cast<std::byte>(choices_.byte()); });
        }
    }

    void change_line() {
        const auto links = static_cast<std::uint32_t>(topology_.links.size());
        const std::size_t link = choices_.below(links);
        const bool up = choices_.flag();
        const LinePlan plan = choose_line(choices_, manners_);
        ordered_ = ordered_ && keeps_order(plan);
        fabric_.set_line(link, up, plan);
    }

    void advance(VirtualTime until) {
        earliest_ = std::max(fabric_.now(), fabric_.next_exit());
        latest_ = until;
        fabric_.advance(until);
        require_that(fabric_.now() == until, "the fabric's time is not where it was moved to");
    }

    std::uint32_t choose_host() {
        return choices_.below(static_cast<std::uint32_t>(topology_.hosts.size()));
    }

    // ---- what must hold

    struct Port {
        std::size_t link;
        bool upper;
        const SwitchPlan& at;
        const Capacity& own;
    };

    [[nodiscard]] std::vector<Port> ports() const {
        std::vector<Port> all;
        const auto called = [&](const std::string& name) -> const SwitchPlan& {
            return *std::find_if(topology_.switches.begin(), topology_.switches.end(),
                                 [&](const SwitchPlan& plan) { return plan.name == name; });
        };
        for (std::size_t number = 0; number < topology_.links.size(); ++number) {
            const LinkPlan& link = topology_.links[number];
            all.push_back({number, true, called(link.upper), link.upper_capacity});
            if (!link.from_host) {
                all.push_back({number, false, called(link.lower), link.lower_capacity});
            }
        }
        return all;
    }

    // The most that a port's buffer may hold: of packets or of bytes.
    static std::int64_t most_of(const Port& port, std::optional<std::int64_t> Capacity::*what) {
        constexpr std::int64_t all = INT64_MAX / 2;
        const bool given = port.own.packets || port.own.bytes;
        if (port.at.architecture != Architecture::shared) {
            return (given ? port.own.*what : port.at.capacity.*what).value_or(all);
        }
        const std::int64_t reserve = given ? (port.own.*what).value_or(all) : 0;
        const std::int64_t pool = std::min((port.at.capacity.*what).value_or(all),
                                           (port.at.port_cap.*what).value_or(all));
        return reserve + pool;
    }

    void check_buffers() const {
        for (const Port& port : ports()) {
            const std::int64_t packets = fabric_.port_packets(port.link, port.upper);
            require_that(packets >= 0 && packets <= most_of(port, &Capacity::packets),
                         "a buffer holds more than it can");
        }
    }

    void check_settled() const {
        require_that(frames_.in_use() == 0, "frames are left that nobody will release");
        require_that(fabric_.next_exit() == never, "something is still to happen");
        std::uint64_t arrived = 0;
        for (std::size_t link = 0; link < topology_.links.size(); ++link) {
            check_line(fabric_.line_counters(link, true));
            check_line(fabric_.line_counters(link, false));
            if (topology_.links[link].from_host) {
                arrived += fabric_.line_counters(link, false).arrived;
                check_host(link);
            }
        }
        require_that(arrived == delivered_, "other frames arrived than were delivered");
        for (const SwitchPlan& plan : topology_.switches) {
            check_switch(plan);
        }
    }

    static void check_line(const LineCounters& line) {
        const std::uint64_t lost =
            line.lost_random + line.lost_burst + line.lost_every + line.lost_bit_error;
        require_that(line.frames == lost + line.arrived - line.duplicated,
                     "a line lost frames that it did not count");
    }

    void check_host(std::size_t link) const {
        const auto host =
            static_cast<std::uint32_t>(std::stoul(topology_.links[link].lower.substr(1)));
        const LineCounters& up = fabric_.line_counters(link, true);
        require_that(up.frames + up.oversize == sent_[host],
                     "a host's frame did not go on its line");
        require_that(fabric_.waiting_time(host) == 0, "a host waits for nothing");
    }

    // Every frame that came goes on, is dropped or is too long for the line, once for each output;
    // an input drops a frame for all its outputs at once.
    void check_switch(const SwitchPlan& plan) const {
        std::uint64_t flooded = 0, known = 0, gone = 0, dropped = 0, count = 0;
        for (const Port& port : ports()) {
            if (&port.at != &plan) {
                continue;
            }
            const PortCounters& counters = fabric_.port_counters(port.link, port.upper);
            const LineCounters& in = fabric_.line_counters(port.link, port.upper);
            const LineCounters& out = fabric_.line_counters(port.link, !port.upper);
            check_port(port, counters);
            require_that(counters.received == in.arrived, "a switch did not get what arrived");
            require_that(counters.forwarded == out.frames,
                         "a switch forwarded what is not on the line");
            const std::uint64_t without = counters.malformed + counters.filtered + counters.flooded;
            require_that(counters.received >= without, "a switch handled more than it got");
            known += counters.received - without;
            flooded += counters.flooded;
            gone += counters.forwarded + out.oversize;
            dropped += counters.dropped;
            ++count;
        }
        const std::uint64_t copies = known + flooded * (count - 1);
        if (plan.architecture == Architecture::input) {
            require_that(gone + dropped <= copies && gone + dropped * (count - 1) >= copies,
                         "an input-buffered switch lost count");
        } else {
            require_that(gone + dropped == copies, "a switch lost count");
        }
    }

    void check_port(const Port& port, const PortCounters& counters) const {
        require_that(fabric_.port_packets(port.link, port.upper) == 0, "a buffer is not empty");
        require_that(counters.most_packets <= most_of(port, &Capacity::packets) &&
                         counters.most_bytes <= most_of(port, &Capacity::bytes),
                     "a buffer held more than it can");
        require_that(counters.pauses == 0 || port.at.pause, "a pause that nobody wanted");
    }

    Choices& choices_;
    const Manners manners_;
    const Topology topology_;
    FramePool frames_;
    Fabric fabric_;
    std::vector<Origin> origins_;
    std::vector<std::uint64_t> sent_; // by host
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> last_number_;
    std::uint64_t number_ = 0;
    std::uint64_t delivered_ = 0;
    VirtualTime last_delivery_ = 0;
    VirtualTime earliest_ = 0;
    VirtualTime latest_ = 0;
    bool ordered_ = true;
};

} // namespace

void play_fabric(std::span<const std::uint8_t> bytes) {
    Choices choices(bytes);
    Play(choices).run();
}

} // namespace sonde
