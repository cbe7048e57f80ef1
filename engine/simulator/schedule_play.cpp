#include "simulator/schedule_play.hpp"

#include <algorithm>
#include <utility>

namespace sonde::simulator {

namespace {

// Sends that a rank has begun and not handed over: more would only need memory, as they go in
// order.
constexpr std::int64_t most_sends_waiting = 8;

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
        ranks_[host].runner.restart({schedule_->steps(static_cast<schedule::Rank>(rank))});
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

void SchedulePlay::advance(std::uint32_t host) {
    if (!of_[host].begun) {
        return;
    }
    Rank& rank = ranks_[host];
    rank.runner.advance(Carrier{this, host});
    if (rank.runner.is_done() && of_[host].to_post > 0) {
        of_[host].to_post = 0;
        steps_done_ = events_.now();
        look(host);
    }
}

bool SchedulePlay::may_begin(std::uint32_t host, const schedule::Step& step) const {
    return step.action != schedule::Action::send || ranks_[host].sends_waiting < most_sends_waiting;
}

void SchedulePlay::begin_step(std::uint32_t host, std::int64_t number, const schedule::Step& step) {
    Rank& rank = ranks_[host];
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
        ranks_[host].runner.completed(number);
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

void SchedulePlay::handed(std::uint32_t host, std::int64_t tag) {
    --ranks_[host].sends_waiting;
    ranks_[host].runner.completed(tag);
    advance(host);
}

void SchedulePlay::delivered(std::uint32_t flow, std::uint32_t host, bool last) {
    if (!last) {
        return;
    }
    Arrivals& of = arrivals(flow);
    ++of.arrived;
    if (of.first_waiting >= 0) {
        ranks_[host].runner.completed(take_waiting(of));
        advance(host);
    }
}

void SchedulePlay::worked(std::uint32_t host) {
    Rank& rank = ranks_[host];
    const std::int64_t number = rank.local.front();
    rank.local.erase(rank.local.begin());
    rank.runner.completed(number);
    advance(host);
}

} // namespace sonde::simulator
