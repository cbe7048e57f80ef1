// An operation by one of our own schedules, over MPI's messages between two ranks or over frames.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "collective/rank_frames.hpp"
#include "schedule/plan.hpp"
#include "schedule/read.hpp"

namespace sonde::collective {

struct Context;
struct Entry;

class Executed {
public:
    // Plans for the context's root. Throws Failure("bad_request") where the algorithm has no use
    // for what was asked.
    Executed(Context& context, const Entry& entry);
    ~Executed();
    Executed(const Executed&) = delete;
    Executed& operator=(const Executed&) = delete;

    // All ranks together, once. Throws Failure on all of them, where it does on one.
    void open();
    // Before a repetition, outside of the timed part.
    void turn_to_root();
    void run();
    // All ranks together, after it: nothing is under way then.
    void settle();
    // Of frames, where they carry the messages.
    [[nodiscard]] std::map<std::string, std::int64_t> counted() const;

private:
    class Running;
    class OverMessages;
    class OverFrames;

    [[nodiscard]] std::unique_ptr<Running> running(schedule::Plan plan);

    Context* context_;
    const schedule::Algorithm* algorithm_;
    schedule::Parameters parameters_;
    RankFrames frames_;
    std::map<int, std::unique_ptr<Running>> of_roots_;
    Running* now_ = nullptr;
};

// The entry's way by what the context's choices ask for. Throws Failure("bad_request") where its
// operation has no schedules.
[[nodiscard]] Entry by_schedule(Entry entry, const schedule::Asked& asked);

} // namespace sonde::collective
