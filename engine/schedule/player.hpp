// Plays a schedule without a clock: what may start starts, and a message is complete when both ends
// have started it (rendezvous). What can go wrong with no buffers at all goes wrong here.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

// A step that has started, with its ranges.
struct PlayedStep {
    Step step;
    std::int64_t number = 0;
    std::vector<Range> more;
    bool complete = false;
};

// Told of what happens, in an order that the schedule allows.
class Watcher {
public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    virtual ~Watcher() = default;

    virtual void message_started(Rank rank, const PlayedStep& step) = 0;
    virtual void message_complete(Rank from, const PlayedStep& send, Rank to,
                                  const PlayedStep& receive) = 0;
    virtual void local(Rank rank, const PlayedStep& step) = 0;
};

// What is wrong with a schedule, up to a number that a reader can make use of.
class Problems {
public:
    void add(const std::string& sentence) {
        ++count_;
        if (sentences_.size() < kept) {
            sentences_.push_back(sentence);
        }
    }
    [[nodiscard]] std::int64_t count() const noexcept { return count_; }
    [[nodiscard]] const std::vector<std::string>& sentences() const noexcept { return sentences_; }

private:
    static constexpr std::size_t kept = 8;

    std::int64_t count_ = 0;
    std::vector<std::string> sentences_;
};

class Player {
public:
    Player(const Schedule& schedule, Watcher& watcher, Problems& problems);
    // Plays to the end, or until nothing moves: then says who waits for whom.
    void play();

private:
    struct RankState {
        std::unique_ptr<Steps> steps;
        std::deque<PlayedStep> started; // from the first that is not complete
        std::int64_t complete_before = 0;
        std::int64_t read = 0; // steps taken from the generator
        Step next;
        std::vector<Range> next_more;
        bool has_next = false;
        std::deque<PlayedStep*> held; // sends that the window holds back
        std::int64_t under_way = 0;
        std::int64_t last_after = 0;
        std::int32_t last_round = 0;
        bool queued = false;
    };
    // Of one pair of ranks, those that came first wait for the other end; all are sends, or all are
    // receives.
    struct Meeting {
        std::vector<PlayedStep*> waiting;
        std::size_t first = 0;
    };

    void read_next(Rank rank);
    void advance(Rank rank);
    void start(Rank rank, PlayedStep& step);
    void release_held(Rank rank);
    void post(Rank rank, PlayedStep& step);
    void finish(Rank rank, PlayedStep& step);
    void wake(Rank rank);
    [[nodiscard]] bool sensible(Rank rank, const Step& step);
    void report_waiting();

    const Schedule* schedule_;
    Watcher* watcher_;
    Problems* problems_;
    std::vector<RankState> ranks_;
    std::unordered_map<std::uint64_t, Meeting> meetings_;
    std::deque<Rank> ready_;
};

} // namespace sonde::schedule
