#include "tuned/attempt.hpp"

namespace sonde::tuned {

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
    Library& library = Library::here();
    const int tag = library.next_own_tag();
    MPI_Request request = MPI_REQUEST_NULL;
    require(PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag, library.itself(), &request));
    try {
        kept->start();
    } catch (...) {
        kept->forget();
        library.tell_itself(tag, MPI_ERR_OTHER);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
        throw;
    }
    library.background().add(kept, [kept, tag](int status) {
        if (kept->running) {
            kept->given.free_types();
            kept->got.free_types();
            kept->group->give_back(std::move(kept->running));
        }
        Library::here().tell_itself(tag, status);
    });
    return request;
}

} // namespace sonde::tuned
