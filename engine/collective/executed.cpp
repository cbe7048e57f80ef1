#include "collective/executed.hpp"

#include <string>

#include "collective/context.hpp"
#include "collective/entry.hpp"
#include "core/failure.hpp"
#include "schedule/choose.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

constexpr int schedule_tag = 77;

int run_executed(Context& context) {
    context.executed->run();
    return MPI_SUCCESS;
}

schedule::Parameters parameters_for(const Context& c, const Entry& entry) {
    schedule::Parameters parameters = c.choices.schedule->parameters;
    parameters.ranks = c.ranks;
    parameters.root = c.root;
    parameters.block_bytes = static_cast<std::int64_t>(c.message_bytes);
    if (c.uneven) {
        parameters.sizes = entry.unequal(c);
    }
    if (entry.reduces) {
        parameters.element_bytes = static_cast<std::int64_t>(word_bytes);
        parameters.commutative = c.reduction.commutes;
    }
    return parameters;
}

// By its name, or the one that is usual for a family's size.
const schedule::Algorithm& algorithm_for(const Context& c, const schedule::Parameters& parameters) {
    schedule::Asked asked = *c.choices.schedule;
    asked.parameters = parameters;
    return schedule::find_algorithm(asked);
}

} // namespace

Executed::Executed(Context& context, const Entry& entry)
    : context_(&context), parameters_(parameters_for(context, entry)) {
    algorithm_ = &algorithm_for(context, parameters_);
    if (algorithm_->family != *entry.family) {
        throw Failure("bad_request", std::string(algorithm_->name) + " is no algorithm for " +
                                         std::string(entry.name) + ", but for " +
                                         std::string(family_name(algorithm_->family)));
    }
    turn_to_root();
}

void Executed::turn_to_root() {
    auto found = of_roots_.find(context_->root);
    if (found == of_roots_.end()) {
        parameters_.root = context_->root;
        schedule::check(*algorithm_, parameters_);
        const auto schedule = algorithm_->make(parameters_);
        found = of_roots_
                    .try_emplace(context_->root,
                                 schedule::plan_of(*schedule, algorithm_->family, context_->rank))
                    .first;
        for (const schedule::PlannedStep& step : found->second.execution.plan().steps) {
            static_cast<void>(countable(static_cast<std::size_t>(step.bytes)));
        }
    }
    now_ = &found->second;
    now_->channel = {.communicator = context_->communicator,
                     .tag = schedule_tag,
                     .datatype = context_->reduction.datatype,
                     .operation = context_->reduction.operation,
                     .element_bytes = context_->reduction.element_bytes,
                     .synchronous = now_->execution.plan().window != 0};
}

void Executed::run() {
    now_->execution.run(context_->given.bytes().data(), context_->got.bytes().data());
}

Entry by_schedule(Entry entry, const schedule::Asked& asked) {
    if (!entry.family || entry.form != Form::blocking) {
        throw Failure("bad_request", std::string(entry.name) + ": " + asked.algorithm +
                                         " is for blocking operations that there are schedules "
                                         "of, such as allreduce");
    }
    entry.call = run_executed;
    return entry;
}

} // namespace sonde::collective
