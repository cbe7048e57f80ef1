#include "tuned/group.hpp"

#include <utility>

#include "tuned/calls.hpp"

namespace sonde::tuned {

namespace {

// What plans that nobody uses may hold, of one communicator.
constexpr std::size_t most_idle_plans = 64;
constexpr std::int64_t most_idle_bytes = std::int64_t{256} << 20U;

} // namespace

Group::Group(const Caller& caller, FittingRules rules, int most_tag, Retired retired)
    : caller_(caller), rules_(std::move(rules)), most_tag_(most_tag), retired_(retired) {}

Group::~Group() {
    if (has_own()) {
        retired_(own());
    }
}

void Group::make_own(MPI_Comm communicator) {
    if (has_own()) {
        return;
    }
    // Not a duplicate, which would ask the program to copy its attributes.
    MPI_Group members = MPI_GROUP_NULL;
    require(PMPI_Comm_group(communicator, &members));
    MPI_Comm made = MPI_COMM_NULL;
    const int status = PMPI_Comm_create(communicator, members, &made);
    require(PMPI_Group_free(&members));
    require(status);
    require(PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    own_ = made;
}

int Group::next_tag() noexcept {
    const auto half = static_cast<std::uint32_t>(most_tag_ / 2);
    return static_cast<int>(begun_.fetch_add(1, std::memory_order_relaxed) % half);
}

int Group::next_kept_tag() noexcept {
    const auto half = static_cast<std::uint32_t>(most_tag_ / 2);
    return static_cast<int>(half + kept_.fetch_add(1, std::memory_order_relaxed) % half);
}

void Group::share_sizes(Sizes& sizes) const {
    const auto ranks = static_cast<std::size_t>(caller_.ranks);
    const std::size_t row = sizes.size() / ranks;
    const Sizes own(sizes.begin() + static_cast<std::ptrdiff_t>(row) * caller_.rank,
                    sizes.begin() + static_cast<std::ptrdiff_t>(row) * (caller_.rank + 1));
    require(PMPI_Allgather(own.data(), static_cast<int>(row), MPI_INT64_T, sizes.data(),
                           static_cast<int>(row), MPI_INT64_T, this->own()));
}

std::unique_ptr<Running> Group::take(const PlanKey& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = idle_.find(key);
    if (found == idle_.end()) {
        return nullptr;
    }
    auto running = std::move(found->second);
    idle_.erase(found);
    idle_bytes_ -= running->execution.plan().between_bytes;
    return running;
}

void Group::give_back(std::unique_ptr<Running> running) {
    const std::int64_t bytes = running->execution.plan().between_bytes;
    const std::scoped_lock lock(mutex_);
    if (idle_.size() >= most_idle_plans || idle_bytes_ + bytes > most_idle_bytes) {
        idle_.clear();
        idle_bytes_ = 0;
    }
    if (bytes <= most_idle_bytes) {
        idle_bytes_ += bytes;
        idle_.emplace(running->key, std::move(running));
    }
}

} // namespace sonde::tuned
