#include "tuned/attempt.hpp"

namespace sonde::tuned {

namespace {

// What a request of MPI's knows of an operation that goes on in the background.
struct Outcome {
    int status = MPI_SUCCESS;
};

int tell_outcome(void* extra, MPI_Status* status) {
    const int result = static_cast<Outcome*>(extra)->status;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return result;
}

int free_outcome(void* extra) {
    delete static_cast<Outcome*>(extra);
    return MPI_SUCCESS;
}

int refuse_to_cancel(void* /*extra*/, int /*is_complete*/) { return MPI_SUCCESS; }

} // namespace

Prepared open(std::shared_ptr<Group> group, const Rule& rule, const Wanted& wanted,
              const Memories& memories) {
    const bool takes_got = memories.given_is_got && memories.given.empty();
    Prepared prepared;
    prepared.given = Side(takes_got ? memories.got : memories.given, memories.given_is_got);
    prepared.got = Side(memories.got, false);
    prepared.given_is_got =
        rule.schedule->family == schedule::Family::broadcast && wanted.root == group->caller().rank;
    PlanKey key = key_of(rule, wanted, prepared.given, prepared.got);
    prepared.running = group->take(key);
    if (!prepared.running) {
        prepared.running = plan_running(std::move(key), rule, group->caller(), wanted,
                                        prepared.given, prepared.got);
    }
    mpi::Channel& channel = prepared.running->channel;
    channel.communicator = group->own();
    channel.tag = group->next_tag();
    channel.datatype = wanted.joined.datatype;
    channel.operation = wanted.joined.operation;
    channel.polls = false;
    prepared.group = std::move(group);
    return prepared;
}

int answer_failure(MPI_Comm communicator, const std::exception_ptr& failure) noexcept {
    int status = MPI_ERR_OTHER;
    try {
        std::rethrow_exception(failure);
    } catch (const MpiError& error) {
        status = error.status;
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
    } catch (const std::exception&) { // a plan above its limits
    }
    PMPI_Comm_call_errhandler(communicator, status);
    return status;
}

void run_now(Prepared prepared) {
    try {
        prepared.run();
    } catch (...) {
        prepared.forget();
        throw;
    }
    prepared.group->give_back(std::move(prepared.running));
}

MPI_Request run_on(Prepared prepared) {
    auto kept = std::make_shared<Prepared>(std::move(prepared));
    kept->running->channel.polls = true;
    kept->given.keep_types();
    kept->got.keep_types();
    auto outcome = std::make_unique<Outcome>();
    MPI_Request request = MPI_REQUEST_NULL;
    require(
        PMPI_Grequest_start(tell_outcome, free_outcome, refuse_to_cancel, outcome.get(), &request));
    Outcome* const told = outcome.release(); // free_outcome() has it
    try {
        kept->start();
    } catch (...) {
        kept->forget();
        throw;
    }
    Library::here().background().add(kept, [kept, told, request](int status) {
        told->status = status;
        if (kept->running) {
            kept->given.free_types();
            kept->got.free_types();
            kept->group->give_back(std::move(kept->running));
        }
        PMPI_Grequest_complete(request);
    });
    return request;
}

} // namespace sonde::tuned
