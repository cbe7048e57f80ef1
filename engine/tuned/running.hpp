// A rule's schedule, planned for one kind of call and executed as often as that comes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/execution.hpp"
#include "transport/mpi/carrier.hpp"
#include "tuned/call.hpp"
#include "tuned/calls.hpp"
#include "tuned/rules.hpp"
#include "tuned/side.hpp"

namespace sonde::tuned {

// What is wanted of a schedule, without the memory.
struct Wanted {
    Operation operation = Operation::barrier;
    int root = 0;
    std::int64_t bytes = 0; // netsonde's size
    Sizes sizes;
    Joined joined;
    bool commutes = true;
};

using PlanKey = std::vector<std::int64_t>;

// All that a plan depends on, of one communicator.
[[nodiscard]] PlanKey key_of(const Rule& rule, const Wanted& wanted, const Side& given,
                             const Side& got);

struct Running {
    using Execution = schedule::Execution<mpi::Carrier<BelowCalls>>;

    Running(PlanKey planned_for, schedule::Plan plan)
        : key(std::move(planned_for)),
          execution(std::move(plan), mpi::Carrier<BelowCalls>(channel)) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    PlanKey key;
    mpi::Channel channel;
    Execution execution;
};

// Throws Failure where it takes more memory than plans may.
[[nodiscard]] std::unique_ptr<Running> plan_running(PlanKey key, const Rule& rule,
                                                    const Caller& caller, const Wanted& wanted,
                                                    const Side& given, const Side& got);

} // namespace sonde::tuned
