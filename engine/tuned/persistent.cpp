#include "tuned/persistent.hpp"

namespace sonde::tuned {

PersistentRequests& PersistentRequests::here() {
    static PersistentRequests* const requests = new PersistentRequests;
    return *requests;
}

MPI_Request PersistentRequests::add(Prepared prepared) {
    auto kept = std::make_shared<Prepared>(std::move(prepared));
    kept->running->channel.polls = true;
    kept->running->channel.tag = kept->group->next_kept_tag();
    kept->given.keep_types();
    kept->got.keep_types();
    const std::scoped_lock lock(mutex_);
    Library& library = Library::here();
    const int tag = library.next_own_tag();
    MPI_Request request = MPI_REQUEST_NULL;
    require(PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag, library.itself(), &request));
    known_[request] = {std::move(kept), tag};
    any_ = true;
    return request;
}

void PersistentRequests::start(MPI_Request request) {
    std::shared_ptr<Prepared> prepared;
    int tag = 0;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(request);
        if (found == known_.end()) {
            return;
        }
        prepared = found->second.prepared;
        tag = found->second.tag;
    }
    prepared->start();
    Library::here().background().add(
        prepared, [prepared, tag](int status) { Library::here().tell_itself(tag, status); });
}

void PersistentRequests::forget(MPI_Request request) {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(request);
    if (found == known_.end()) {
        return;
    }
    const std::shared_ptr<Prepared> prepared = std::move(found->second.prepared);
    known_.erase(found);
    if (prepared.use_count() == 1) { // not under way
        prepared->given.free_types();
        prepared->got.free_types();
    }
}

} // namespace sonde::tuned
