#include "simulator/play.hpp"

#include <algorithm>

#include "simulator/schedule_play.hpp"

namespace sonde::simulator {

namespace {

constexpr std::uint64_t workload_stream = 2; // of random numbers

// One message from each source of a pair to its target.
class Pairs final : public Play {
public:
    using Play::Play;

    void start() override {
        by_host_.resize(scenario_.hosts);
        for (const auto& [source, target] : plan_.pairs) {
            const std::uint32_t from = network_.place_of(source);
            const std::uint32_t to = network_.place_of(target);
            by_host_[from].push_back(to);
            ++of_[from].to_post;
            ++of_[to].to_receive;
        }
        for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
            begin_at(network_.place_of(rank), 0);
        }
    }

    void begin(std::uint32_t host) override {
        mark_begun(host);
        for (const std::uint32_t target : by_host_[host]) {
            --of_[host].to_post;
            transport_.post(transport_.flow(host, target), plan_.packets * plan_.payload_bytes, 0);
        }
        look(host);
    }

private:
    std::vector<std::vector<std::uint32_t>> by_host_; // whom it sends to
};

// Packet by packet, each to a host drawn for it.
class Uniform final : public Play {
public:
    using Play::Play;

    void start() override {
        for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
            const std::uint32_t host = network_.place_of(rank);
            of_[host].to_post = plan_.packets;
            begin_at(host, 0);
        }
    }

    void begin(std::uint32_t host) override {
        mark_begun(host);
        post_next(host);
    }

    void handed(std::uint32_t host, std::int64_t /*tag*/) override {
        if (of_[host].to_post == 0) {
            return;
        }
        const VirtualTime pause = pause_after(host);
        if (pause == 0) {
            post_next(host);
        } else {
            events_.push(events_.now() + pause, EventKind::begin, host);
        }
    }

private:
    void post_next(std::uint32_t host) {
        --of_[host].to_post;
        const std::uint32_t other = random_.below(scenario_.hosts - 1);
        transport_.post_one(transport_.flow(host, none), other + (other >= host ? 1 : 0), 0);
    }

    // With the pauses, a packet begins once in its time on the line divided by the load.
    VirtualTime pause_after(std::uint32_t host) {
        if (plan_.load >= 1.0) {
            return 0;
        }
        const auto bytes =
            static_cast<std::uint32_t>(plan_.payload_bytes + scenario_.transport.header_bytes);
        const auto time = static_cast<double>(network_.line_time_of(host, bytes));
        return static_cast<VirtualTime>(random_.exponential(time / plan_.load));
    }
};

// All sources together send so many packets, each in turn to the sinks.
class Burst final : public Play {
public:
    using Play::Play;

    void start() override {
        const auto sources = static_cast<std::int64_t>(plan_.sources.size());
        number_.resize(scenario_.hosts);
        for (std::int64_t i = 0; i < sources; ++i) {
            const std::uint32_t host =
                network_.place_of(plan_.sources[static_cast<std::size_t>(i)]);
            number_[host] = i; // they do not all begin with the same sink
            of_[host].to_post = plan_.packets / sources + (i < plan_.packets % sources ? 1 : 0);
        }
        for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
            begin_at(network_.place_of(rank), 0);
        }
    }

    void begin(std::uint32_t host) override {
        mark_begun(host);
        handed(host, 0);
        look(host);
    }

    void handed(std::uint32_t host, std::int64_t /*tag*/) override {
        if (of_[host].to_post > 0) {
            --of_[host].to_post;
            const auto sink = static_cast<std::size_t>(number_[host]++) % plan_.sinks.size();
            transport_.post_one(transport_.flow(host, network_.place_of(plan_.sinks[sink])),
                                network_.place_of(plan_.sinks[sink]), 0);
        }
    }

private:
    std::vector<std::int64_t> number_; // of the next packet
};

// Messages at their times.
class Trace final : public Play {
public:
    using Play::Play;

    void start() override {
        for (const TraceMessage& message : plan_.messages) {
            ++of_[network_.place_of(message.source)].to_post;
            ++of_[network_.place_of(message.target)].to_receive;
        }
        for (std::uint32_t host = 0; host < scenario_.hosts; ++host) {
            mark_begun(host);
            look(host);
        }
        events_.push(plan_.messages.front().at, EventKind::begin, 0);
    }

    void begin(std::uint32_t /*host*/) override {
        while (next_ < plan_.messages.size() && plan_.messages[next_].at <= events_.now()) {
            const TraceMessage& message = plan_.messages[next_++];
            const std::uint32_t source = network_.place_of(message.source);
            --of_[source].to_post;
            transport_.post(transport_.flow(source, network_.place_of(message.target)),
                            message.bytes, 0);
        }
        if (next_ < plan_.messages.size()) {
            events_.push(plan_.messages[next_].at, EventKind::begin, 0);
        }
    }

private:
    std::size_t next_ = 0;
};

} // namespace

Play::Play(const Scenario& scenario, EventQueue& events, Network& network, Hosts& hosts,
           Transport& transport)
    : scenario_(scenario), plan_(scenario.workload), events_(events), network_(network),
      hosts_(hosts), transport_(transport), random_(scenario.seed, workload_stream),
      of_(scenario.hosts),
      completions_(static_cast<std::size_t>(scenario.hosts * plan_.repetitions), -1),
      begins_(scenario.hosts, -1), waiting_for_(scenario.hosts) {}

void Play::begin_at(std::uint32_t host, VirtualTime earliest) {
    const auto spread = static_cast<double>(plan_.start_spread);
    const auto late = spread > 0.0 ? static_cast<VirtualTime>(spread * random_.uniform()) : 0;
    events_.push(earliest + late, EventKind::begin, host);
}

void Play::mark_begun(std::uint32_t host) {
    of_[host].begun = true;
    if (begins_[host] < 0) {
        begins_[host] = events_.now();
    }
}

void Play::delivered(std::uint32_t /*flow*/, std::uint32_t host, bool last) {
    if (of_[host].done) {
        completion(host) = events_.now();
    } else if (last && of_[host].to_receive > 0) {
        --of_[host].to_receive;
        look(host);
    }
}

void Play::look(std::uint32_t host) {
    Progress& progress = of_[host];
    if (progress.done || !progress.begun || progress.to_post > 0 || progress.to_receive > 0 ||
        !transport_.is_settled(host)) {
        return;
    }
    progress.done = true;
    completion(host) = events_.now();
    if (--waiting_for_ == 0) {
        all_done();
    }
}

std::unique_ptr<Play> make_play(const Scenario& scenario, EventQueue& events, Network& network,
                                Hosts& hosts, Transport& transport) {
    switch (scenario.workload.kind) {
    case WorkloadKind::uniform:
        return std::make_unique<Uniform>(scenario, events, network, hosts, transport);
    case WorkloadKind::burst:
        return std::make_unique<Burst>(scenario, events, network, hosts, transport);
    case WorkloadKind::trace:
        return std::make_unique<Trace>(scenario, events, network, hosts, transport);
    case WorkloadKind::schedule:
        return std::make_unique<SchedulePlay>(scenario, events, network, hosts, transport);
    case WorkloadKind::one_way:
    case WorkloadKind::two_way:
    case WorkloadKind::many_to_one:
    case WorkloadKind::pairs:
        break;
    }
    return std::make_unique<Pairs>(scenario, events, network, hosts, transport);
}

} // namespace sonde::simulator
