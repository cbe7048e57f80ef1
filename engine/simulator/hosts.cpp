#include "simulator/hosts.hpp"

namespace sonde::simulator {

namespace {

constexpr std::uint64_t first_host_stream = 1000; // of random numbers

} // namespace

Hosts::Hosts(const Scenario& scenario, EventQueue& events, PacketPool& packets)
    : scenario_(scenario), events_(events), packets_(packets), hosts_(scenario.hosts) {}

void Hosts::connect(Network& network, Process& process) {
    network_ = &network;
    process_ = &process;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
        hosts_[host].kind = &network.host_kind(host);
        hosts_[host].last_arrival = -never / 2; // the first packet comes after a long time
        hosts_[host].random = Random(scenario_.seed, first_host_stream + network.rank_of(host));
    }
}

// ---- the card

void Hosts::reach(std::uint32_t host_index, std::uint32_t packet_index) {
    Host& host = hosts_[host_index];
    if (host.in_pool >= host.kind->receive_pool_packets) {
        ++host.lost;
        packets_.give(packet_index);
        return;
    }
    ++host.in_pool;
    ++delivered_;
    const VirtualTime taken = std::max(events_.now(), host.card_free_at);
    host.card_free_at = taken + host.kind->receive_gap.of(packets_[packet_index].bytes);
    if (taken > events_.now()) {
        events_.push(taken, EventKind::card, host_index, packet_index);
    } else {
        on_card(host_index, packet_index);
    }
}

void Hosts::on_card(std::uint32_t host_index, std::uint32_t packet_index) {
    Host& host = hosts_[host_index];
    const CoalescingPlan& plan = host.kind->coalescing;
    const bool far_apart = events_.now() - host.last_arrival >= plan.time;
    host.last_arrival = events_.now();
    host.card.push(packets_, packet_index);
    ++host.on_card;
    if (plan.policy == Coalescing::packet || (plan.policy == Coalescing::adaptive && far_apart) ||
        (plan.policy != Coalescing::time && host.on_card >= plan.packets)) {
        raise(host_index);
    } else if (host.on_card == 1) {
        events_.push(events_.now() + plan.time, EventKind::interrupt, host_index, host.interrupts);
    }
}

void Hosts::on_interrupt(std::uint32_t host_index, std::uint32_t number) {
    if (hosts_[host_index].interrupts == number) { // else the packets came with an earlier one
        raise(host_index);
    }
}

void Hosts::raise(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    ++host.interrupts;
    host.on_card = 0;
    packets_[host.card.first].interrupts = true;
    while (!host.card.empty()) {
        host.kernel.push(packets_, host.card.pop(packets_));
    }
    if (host.kind->other_processor) {
        run_kernel(host_index);
    } else {
        run(host_index);
    }
}

// ---- the CPU

void Hosts::run(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    if (host.choosing) { // what is being done goes on choosing when it returns
        return;
    }
    host.choosing = true;
    while (!host.busy && choose(host_index, host)) {
        const VirtualTime time = cost(host);
        if (time == 0) {
            finish(host_index);
        } else {
            host.busy = true;
            events_.push(events_.now() + time, EventKind::process, host_index);
        }
    }
    host.choosing = false;
}

void Hosts::on_process(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    host.busy = false;
    host.choosing = true;
    finish(host_index);
    host.choosing = false;
    run(host_index);
}

// Arriving packets come before the process, which takes and sends in turn.
bool Hosts::choose(std::uint32_t host_index, Host& host) {
    if (!host.kind->other_processor && !host.kernel.empty()) {
        host.work = Work::kernel;
        host.work_packet = host.kernel.pop(packets_);
        return true;
    }
    if (!host.local_bytes.empty()) {
        host.work = Work::local;
        return true;
    }
    if (!(host.sent_last && !host.arrived.empty()) && choose_send(host_index, host)) {
        return true;
    }
    if (host.arrived.empty()) {
        return false;
    }
    host.work = Work::take;
    host.work_packet = host.arrived.pop(packets_);
    host.sent_last = false;
    return true;
}

bool Hosts::choose_send(std::uint32_t host_index, Host& host) {
    if (!process_->may_send(host_index) || !network_->has_room(host_index)) {
        return false;
    }
    host.work_packet = process_->next(host_index);
    if (host.work_packet == none) {
        return false;
    }
    host.work = Work::send;
    host.sent_last = true;
    return true;
}

VirtualTime Hosts::kernel_cost(const Host& host, std::uint32_t packet_index) {
    const Packet& packet = packets_[packet_index];
    const bool costs = packet.kind == PacketKind::data || host.kind->control_overhead;
    return (costs ? host.kind->receive_overhead.of(packet.bytes) : 0) +
           (packet.interrupts ? host.kind->coalescing.interrupt : 0);
}

VirtualTime Hosts::cost(Host& host) {
    if (host.work == Work::local) {
        return host.kind->copy.of(host.local_bytes.front());
    }
    if (host.work == Work::kernel) {
        return kernel_cost(host, host.work_packet);
    }
    const Packet& packet = packets_[host.work_packet];
    if (packet.kind != PacketKind::data && !host.kind->control_overhead) {
        return 0;
    }
    const Cost& own =
        host.work == Work::send ? host.kind->send_overhead : host.kind->user_receive_overhead;
    return own.of(packet.bytes) + jitter(host);
}

VirtualTime Hosts::jitter(Host& host) {
    const ProcessJitter& plan = host.kind->jitter;
    if (plan.shape == ProcessJitterShape::off ||
        (plan.ratio < 1.0 && !host.random.happens(plan.ratio))) {
        return 0;
    }
    return static_cast<VirtualTime>(plan.shape == ProcessJitterShape::uniform
                                        ? 2.0 * plan.mean_ps * host.random.uniform()
                                        : host.random.exponential(plan.mean_ps));
}

void Hosts::finish(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    switch (host.work) {
    case Work::kernel:
        host.arrived.push(packets_, host.work_packet);
        break;
    case Work::take:
        --host.in_pool;
        process_->receive(host_index, host.work_packet);
        break;
    case Work::send:
        network_->send(host_index, host.work_packet);
        break;
    case Work::local:
        host.local_bytes.erase(host.local_bytes.begin());
        process_->worked(host_index);
        break;
    }
}

void Hosts::work(std::uint32_t host_index, std::int64_t bytes) {
    hosts_[host_index].local_bytes.push_back(bytes);
    run(host_index);
}

// ---- the other CPU

void Hosts::run_kernel(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    if (host.kernel_choosing) {
        return;
    }
    host.kernel_choosing = true;
    while (!host.kernel_busy && !host.kernel.empty()) {
        host.kernel_packet = host.kernel.pop(packets_);
        const VirtualTime time = kernel_cost(host, host.kernel_packet);
        if (time > 0) {
            host.kernel_busy = true;
            events_.push(events_.now() + time, EventKind::kernel, host_index);
        } else {
            host.arrived.push(packets_, host.kernel_packet);
            run(host_index);
        }
    }
    host.kernel_choosing = false;
}

void Hosts::on_kernel(std::uint32_t host_index) {
    Host& host = hosts_[host_index];
    host.kernel_busy = false;
    host.arrived.push(packets_, host.kernel_packet);
    run(host_index);
    run_kernel(host_index);
}

void Hosts::check_empty() const {
    for (const Host& host : hosts_) {
        require(host.card.empty() && host.kernel.empty() && host.arrived.empty() && !host.busy &&
                    !host.kernel_busy && host.in_pool == 0 && host.local_bytes.empty(),
                "the simulator forgot a packet at a host");
    }
}

} // namespace sonde::simulator
