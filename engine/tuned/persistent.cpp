#include "tuned/persistent.hpp"

namespace sonde::tuned {

namespace {

constexpr int most_self_tags = 32767; // what every MPI has

} // namespace

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
    if (self_ == MPI_COMM_NULL) {
        require(PMPI_Comm_dup(MPI_COMM_SELF, &self_));
    }
    const int tag = next_tag_++ % most_self_tags;
    MPI_Request request = MPI_REQUEST_NULL;
    require(PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag, self_, &request));
    known_[request] = {std::move(kept), tag};
    any_ = true;
    return request;
}

void PersistentRequests::start(MPI_Request request) {
    std::shared_ptr<Prepared> prepared;
    int tag = 0;
    MPI_Comm self = MPI_COMM_NULL;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(request);
        if (found == known_.end()) {
            return;
        }
        prepared = found->second.prepared;
        tag = found->second.tag;
        self = self_;
    }
    prepared->start();
    Library::here().background().add(prepared, [prepared, self, tag](int status) {
        // What is longer than the receive is an error of it.
        const std::byte failed{};
        PMPI_Send(&failed, status == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag, self);
    });
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

void PersistentRequests::end() noexcept {
    const std::scoped_lock lock(mutex_);
    if (self_ != MPI_COMM_NULL) {
        PMPI_Comm_free(&self_);
    }
}

} // namespace sonde::tuned
