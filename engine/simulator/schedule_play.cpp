#include "simulator/schedule_play.hpp"

#include <algorithm>
#include <utility>

namespace sonde::simulator {

namespace {

// Sends that a rank has begun and not handed over: more would only need memory, as they go in
// order.
constexpr std::int64_t most_sends_waiting = 8;
constexpr std::size_t least_ring = 16;

} // namespace

SchedulePlay::SchedulePlay(const Scenario& scenario, EventQueue& events, Network& network,
                           Hosts& hosts, Transport& transport)
    : Play(scenario, events, network, hosts, transport),
      schedule_(schedule::make_schedule(plan_.algorithm, plan_.parameters)),
      ranks_(scenario.hosts) {
    if (schedule_->window() > 0) {
        transport_.limit_window(schedule_->window());
    }
}

void SchedulePlay::start() {
    for (std::uint32_t rank = 0; rank < scenario_.hosts; ++rank) {
        const std::uint32_t host = network_.place_of(rank);
        ranks_[host] = Rank{};
        ranks_[host].steps = schedule_->steps(static_cast<schedule::Rank>(rank));
        of_[host] = Progress{};
        of_[host].to_post = 1; // until its steps are at their end and complete
        begin_at(host, events_.now());
    }
    waiting_for_ = scenario_.hosts;
}

void SchedulePlay::all_done() {
    if (repetition_ + 1 < plan_.repetitions) {
        ++repetition_;
        start();
    }
}

void SchedulePlay::begin(std::uint32_t host) {
    mark_begun(host);
    advance(host);
}

// Begins all steps that can begin.
void SchedulePlay::advance(std::uint32_t host) {
    Rank& rank = ranks_[host];
    if (rank.advancing || !of_[host].begun) {
        return;
    }
    rank.advancing = true;
    while (!rank.at_end) {
        if (!rank.has_pending) {
            rank.has_pending = rank.steps->next(rank.pending);
            rank.at_end = !rank.has_pending;
            continue;
        }
        if (!may_begin(rank)) {
            break;
        }
        rank.has_pending = false;
        begin_step(host, rank);
    }
    rank.advancing = false;
    if (rank.at_end && rank.low == rank.begun && of_[host].to_post > 0) {
        of_[host].to_post = 0;
        look(host);
    }
}

bool SchedulePlay::may_begin(const Rank& rank) const {
    return rank.pending.after <= rank.low && (rank.pending.action != schedule::Action::send ||
                                              rank.sends_waiting < most_sends_waiting);
}

void SchedulePlay::begin_step(std::uint32_t host, Rank& rank) {
    const std::int64_t number = rank.begun++;
    const schedule::Step step = rank.pending;
    if (static_cast<std::size_t>(rank.begun - rank.low) > rank.complete.size()) {
        std::vector<bool> more(rank.complete.empty() ? least_ring : 2 * rank.complete.size());
        for (std::int64_t at = rank.low; at < number; ++at) {
            const auto place = static_cast<std::size_t>(at);
            more[place & (more.size() - 1)] = rank.complete[place & (rank.complete.size() - 1)];
        }
        rank.complete = std::move(more);
    }
    rank.complete[static_cast<std::size_t>(number) & (rank.complete.size() - 1)] = false;
    if (step.action == schedule::Action::receive) {
        begin_receive(host, number, network_.place_of(static_cast<std::uint32_t>(step.peer)));
    } else if (step.action == schedule::Action::send) {
        ++rank.sends_waiting;
        const std::uint32_t to = network_.place_of(static_cast<std::uint32_t>(step.peer));
        transport_.post(transport_.flow(host, to), step.bytes, number);
    } else {
        rank.local.push_back(number);
        hosts_.work(host, step.bytes);
    }
}

SchedulePlay::Arrivals& SchedulePlay::arrivals(std::uint32_t flow) {
    if (arrivals_.size() <= flow) {
        arrivals_.resize(std::max<std::size_t>(flow + std::size_t{1}, 2 * arrivals_.size()));
    }
    return arrivals_[flow];
}

void SchedulePlay::begin_receive(std::uint32_t host, std::int64_t number, std::uint32_t from) {
    Arrivals& of = arrivals(transport_.flow(from, host));
    if (++of.asked <= of.arrived) {
        finish_step(ranks_[host], number);
    } else if (of.first_waiting < 0) {
        of.first_waiting = number;
    } else {
        if (!of.behind) {
            of.behind = std::make_unique<std::deque<std::int64_t>>();
        }
        of.behind->push_back(number);
    }
}

std::int64_t SchedulePlay::take_waiting(Arrivals& of) {
    const std::int64_t number = of.first_waiting;
    of.first_waiting = -1;
    if (of.behind && !of.behind->empty()) {
        of.first_waiting = of.behind->front();
        of.behind->pop_front();
    }
    return number;
}

void SchedulePlay::finish_step(Rank& rank, std::int64_t number) {
    const auto ring = rank.complete.size() - 1;
    rank.complete[static_cast<std::size_t>(number) & ring] = true;
    while (rank.low < rank.begun && rank.complete[static_cast<std::size_t>(rank.low) & ring]) {
        ++rank.low;
    }
}

void SchedulePlay::handed(std::uint32_t host, std::int64_t tag) {
    --ranks_[host].sends_waiting;
    finish_step(ranks_[host], tag);
    advance(host);
}

void SchedulePlay::delivered(std::uint32_t flow, std::uint32_t host, bool last) {
    if (!last) {
        return;
    }
    Arrivals& of = arrivals(flow);
    ++of.arrived;
    if (of.first_waiting >= 0) {
        finish_step(ranks_[host], take_waiting(of));
        advance(host);
    }
}

void SchedulePlay::worked(std::uint32_t host) {
    Rank& rank = ranks_[host];
    const std::int64_t number = rank.local.front();
    rank.local.erase(rank.local.begin());
    finish_step(rank, number);
    advance(host);
}

} // namespace sonde::simulator
