#include "schedule/player.hpp"

#include <algorithm>

namespace sonde::schedule {

namespace {

bool is_message(const Step& step) {
    return step.action == Action::send || step.action == Action::receive;
}

std::uint64_t pair_key(Rank from, Rank to) {
    return (std::uint64_t{static_cast<std::uint32_t>(from)} << 32U) |
           static_cast<std::uint32_t>(to);
}

} // namespace

Player::Player(const Schedule& schedule, Watcher& watcher, Problems& problems)
    : schedule_(&schedule), watcher_(&watcher), problems_(&problems),
      ranks_(static_cast<std::size_t>(schedule.parameters().ranks)) {
    for (Rank rank = 0; rank < schedule.parameters().ranks; ++rank) {
        ranks_[static_cast<std::size_t>(rank)].steps = schedule.steps(rank);
        read_next(rank);
        wake(rank);
    }
}

void Player::read_next(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    state.has_next = state.steps->next(state.next);
    if (state.has_next) {
        state.next_more.assign(state.next.more.begin(), state.next.more.end());
        state.has_next = sensible(rank, state.next);
    }
}

// What Step's contract demands of a step by itself. A rank whose steps break it is played no
// further.
bool Player::sensible(Rank rank, const Step& step) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    const auto refuse = [&](const std::string& words) {
        problems_->add("step " + std::to_string(state.read) + " of rank " + std::to_string(rank) +
                       " " + words);
        return false;
    };
    if (step.after < state.last_after || step.after > state.read) {
        return refuse("waits for the steps before " + std::to_string(step.after));
    }
    if (step.round < state.last_round) {
        return refuse("is of round " + std::to_string(step.round) + ", after one of round " +
                      std::to_string(state.last_round));
    }
    if (step.action != Action::copy &&
        (step.peer < 0 || step.peer >= schedule_->parameters().ranks || step.peer == rank)) {
        return refuse("has the peer " + std::to_string(step.peer));
    }
    state.last_after = step.after;
    state.last_round = step.round;
    return true;
}

void Player::wake(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    if (!state.queued) {
        state.queued = true;
        ready_.push_back(rank);
    }
}

void Player::play() {
    while (!ready_.empty()) {
        const Rank rank = ready_.front();
        ready_.pop_front();
        ranks_[static_cast<std::size_t>(rank)].queued = false;
        advance(rank);
    }
    report_waiting();
}

void Player::advance(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    release_held(rank);
    while (state.has_next && state.next.after <= state.complete_before) {
        PlayedStep& step = state.started.emplace_back(
            PlayedStep{state.next, state.read++, std::move(state.next_more), false});
        step.step.more = step.more;
        read_next(rank);
        start(rank, step);
    }
}

void Player::start(Rank rank, PlayedStep& step) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    if (!is_message(step.step)) {
        watcher_->local(rank, step);
        finish(rank, step);
    } else if (step.step.action == Action::receive) {
        post(rank, step);
    } else {
        state.held.push_back(&step);
        release_held(rank);
    }
}

// Sends start in order, while the window has room.
void Player::release_held(Rank rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    const std::int64_t window = schedule_->window();
    while (!state.held.empty() && (window == 0 || state.under_way < window)) {
        PlayedStep& step = *state.held.front();
        state.held.pop_front();
        ++state.under_way;
        post(rank, step);
    }
}

void Player::post(Rank rank, PlayedStep& step) {
    watcher_->message_started(rank, step);
    const bool sends = step.step.action == Action::send;
    const Rank peer = step.step.peer;
    Meeting& meeting = meetings_[sends ? pair_key(rank, peer) : pair_key(peer, rank)];
    const bool met = meeting.first < meeting.waiting.size() &&
                     meeting.waiting[meeting.first]->step.action != step.step.action;
    if (!met) {
        meeting.waiting.push_back(&step);
        return;
    }
    PlayedStep& other = *meeting.waiting[meeting.first++];
    if (meeting.first == meeting.waiting.size()) {
        meeting.waiting.clear();
        meeting.first = 0;
    }
    sends ? watcher_->message_complete(rank, step, peer, other)
          : watcher_->message_complete(peer, other, rank, step);
    finish(rank, step);
    finish(peer, other);
}

void Player::finish(Rank rank, PlayedStep& step) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    step.complete = true;
    state.under_way -= step.step.action == Action::send ? 1 : 0;
    while (!state.started.empty() && state.started.front().complete) {
        state.started.pop_front();
        ++state.complete_before;
    }
    wake(rank);
}

void Player::report_waiting() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const auto& started = ranks_[rank].started;
        if (!started.empty()) {
            const PlayedStep& step = started.front();
            problems_->add("deadlock: rank " + std::to_string(rank) + " waits in step " +
                           std::to_string(step.number) +
                           (step.step.action == Action::send ? " to send to rank "
                                                             : " to receive from rank ") +
                           std::to_string(step.step.peer));
        } else if (ranks_[rank].has_next) {
            problems_->add("deadlock: rank " + std::to_string(rank) + " never starts step " +
                           std::to_string(ranks_[rank].read));
        }
    }
}

} // namespace sonde::schedule
