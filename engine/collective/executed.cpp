#include "collective/executed.hpp"

#include <string>
#include <tuple>
#include <utility>

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

MPI_Request* MpiCarrier::add(std::int64_t number) {
    numbers_.push_back(number);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
}

void MpiCarrier::send(std::span<const std::byte> bytes, schedule::Rank peer, std::int64_t number) {
    const auto begin = has_window_ ? MPI_Issend : MPI_Isend;
    mpi::check(begin(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, schedule_tag,
                     context_->communicator, add(number)),
               "send a message of a schedule");
}

void MpiCarrier::receive(std::span<std::byte> bytes, schedule::Rank peer, std::int64_t number) {
    mpi::check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, schedule_tag,
                         context_->communicator, add(number)),
               "receive a message of a schedule");
}

void MpiCarrier::combine(const std::byte* left, std::byte* into, std::size_t bytes) const {
    mpi::check(MPI_Reduce_local(left, into,
                                static_cast<int>(bytes / context_->reduction.element_bytes),
                                context_->reduction.datatype, context_->reduction.operation),
               "join what came with what is there");
}

void MpiCarrier::find_done(bool all) {
    const int count = static_cast<int>(requests_.size());
    if (all) {
        mpi::check(MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE),
                   "wait for messages of a schedule");
        done_.swap(numbers_);
        numbers_.clear();
        requests_.clear();
        return;
    }
    which_.resize(requests_.size());
    int found = 0;
    mpi::check(MPI_Waitsome(count, requests_.data(), &found, which_.data(), MPI_STATUSES_IGNORE),
               "wait for a message of a schedule");
    done_.clear();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i] == MPI_REQUEST_NULL) {
            done_.push_back(numbers_[i]);
        } else {
            requests_[kept] = requests_[i];
            numbers_[kept++] = numbers_[i];
        }
    }
    requests_.resize(kept);
    numbers_.resize(kept);
}

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
                    .emplace(std::piecewise_construct, std::forward_as_tuple(context_->root),
                             std::forward_as_tuple(
                                 schedule::plan_of(*schedule, algorithm_->family, context_->rank),
                                 MpiCarrier(*context_, schedule->window() != 0)))
                    .first;
        for (const schedule::PlannedStep& step : found->second.plan().steps) {
            static_cast<void>(countable(static_cast<std::size_t>(step.bytes)));
        }
    }
    now_ = &found->second;
}

void Executed::run() { now_->run(context_->given.bytes().data(), context_->got.bytes().data()); }

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
