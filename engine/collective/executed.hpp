// An operation by one of our own schedules, over MPI's messages between two ranks.
#pragma once

#include <mpi.h>

#include <map>
#include <utility>

#include "schedule/execution.hpp"
#include "schedule/read.hpp"
#include "transport/mpi/carrier.hpp"
#include "transport/mpi/plain_calls.hpp"

namespace sonde::collective {

struct Context;
struct Entry;

class Executed {
public:
    // Plans for the context's root. Throws Failure("bad_request") where the algorithm has no use
    // for what was asked.
    Executed(Context& context, const Entry& entry);

    // Before a repetition, outside of the timed part.
    void turn_to_root();
    void run();

private:
    // An execution over the messages of its own channel. Behind a window sends are synchronous:
    // complete when the other rank takes them.
    struct Running {
        explicit Running(schedule::Plan plan) : execution(std::move(plan), Carrier(channel)) {}
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

        using Carrier = mpi::Carrier<mpi::PlainCalls>;
        mpi::Channel channel;
        schedule::Execution<Carrier> execution;
    };

    Context* context_;
    const schedule::Algorithm* algorithm_;
    schedule::Parameters parameters_;
    std::map<int, Running> of_roots_;
    Running* now_ = nullptr;
};

// The entry's way by what the context's choices ask for. Throws Failure("bad_request") where its
// operation has no schedules.
[[nodiscard]] Entry by_schedule(Entry entry, const schedule::Asked& asked);

} // namespace sonde::collective
