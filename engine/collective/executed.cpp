#include "collective/executed.hpp"

#include <mpi.h>

#include <string>
#include <utility>

#include "collective/context.hpp"
#include "collective/entry.hpp"
#include "core/failure.hpp"
#include "schedule/choose.hpp"
#include "schedule/execution.hpp"
#include "transport/link/messages.hpp"
#include "transport/mpi/carrier.hpp"
#include "transport/mpi/plain_calls.hpp"

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

class Executed::Running {
public:
    Running() = default;
    virtual ~Running() = default;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    virtual void run(const std::byte* given, std::byte* got) = 0;
    [[nodiscard]] virtual const schedule::Plan& plan() const noexcept = 0;

    // A context's reduction is made after its plan.
    void join_as(const Context& c);

protected:
    // Behind a window sends are synchronous: complete when the other rank takes them.
    mpi::Channel channel_; // its address is the carriers'
};

void Executed::Running::join_as(const Context& c) {
    channel_ = {.communicator = c.communicator,
                .tag = schedule_tag,
                .datatype = c.reduction.datatype,
                .operation = c.reduction.operation,
                .element_bytes = c.reduction.element_bytes,
                .synchronous = plan().window != 0};
}

namespace {

using Messages = mpi::Carrier<mpi::PlainCalls>;

// As MPI joins them.
struct Join {
    const Messages* messages;
    void operator()(const std::byte* left, std::byte* into, std::size_t bytes) const {
        messages->combine(left, into, bytes);
    }
};

} // namespace

class Executed::OverMessages final : public Running {
public:
    explicit OverMessages(schedule::Plan plan) : execution_(std::move(plan), Messages(channel_)) {}

    void run(const std::byte* given, std::byte* got) override { execution_.run(given, got); }
    [[nodiscard]] const schedule::Plan& plan() const noexcept override { return execution_.plan(); }

private:
    schedule::Execution<Messages> execution_;
};

class Executed::OverFrames final : public Running {
public:
    OverFrames(schedule::Plan plan, RankFrames& frames, int ranks, bool has_window)
        : messages_(channel_),
          execution_(std::move(plan), {frames, ranks, has_window, Join{&messages_}}) {}

    void run(const std::byte* given, std::byte* got) override { execution_.run(given, got); }
    [[nodiscard]] const schedule::Plan& plan() const noexcept override { return execution_.plan(); }

private:
    Messages messages_; // of a reduction
    schedule::Execution<LinkMessages<RankFrames, Join>> execution_;
};

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

Executed::~Executed() = default;

void Executed::open() {
    if (context_->choices.frames) {
        frames_.open(context_->communicator, *context_->choices.frames);
    }
}

void Executed::turn_to_root() {
    auto found = of_roots_.find(context_->root);
    if (found == of_roots_.end()) {
        parameters_.root = context_->root;
        schedule::check(*algorithm_, parameters_);
        const auto schedule = algorithm_->make(parameters_);
        found = of_roots_
                    .try_emplace(
                        context_->root,
                        running(schedule::plan_of(*schedule, algorithm_->family, context_->rank)))
                    .first;
        for (const schedule::PlannedStep& step : found->second->plan().steps) {
            static_cast<void>(countable(static_cast<std::size_t>(step.bytes)));
        }
    }
    now_ = found->second.get();
    now_->join_as(*context_);
}

std::unique_ptr<Executed::Running> Executed::running(schedule::Plan plan) {
    if (context_->choices.frames) {
        const bool has_window = plan.window != 0;
        return std::make_unique<OverFrames>(std::move(plan), frames_, context_->ranks, has_window);
    }
    return std::make_unique<OverMessages>(std::move(plan));
}

void Executed::run() { now_->run(context_->given.bytes().data(), context_->got.bytes().data()); }

void Executed::settle() {
    if (context_->choices.frames) {
        frames_.settle();
    }
}

std::map<std::string, std::int64_t> Executed::counted() const { return frames_.counted(); }

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
