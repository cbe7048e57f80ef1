// What the library knows of one communicator of the program's: who is in it, its rules, a
// communicator of its own beside it, and the plans that were made for it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tuned/rules.hpp"
#include "tuned/running.hpp"

namespace sonde::tuned {

class Group {
public:
    // `retired` gets the own communicator when nothing needs it any more.
    using Retired = void (*)(MPI_Comm own);

    // Without rules: an intercommunicator, or with ranks from elsewhere.
    Group() = default;
    Group(const Caller& caller, FittingRules rules, int most_tag, Retired retired);
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group();

    [[nodiscard]] const Caller& caller() const noexcept { return caller_; }
    [[nodiscard]] const FittingRules& rules() const noexcept { return rules_; }

    [[nodiscard]] bool has_own() const noexcept { return own_.load() != MPI_COMM_NULL; }
    // All ranks together, where it is not there yet.
    void make_own(MPI_Comm communicator);
    [[nodiscard]] MPI_Comm own() const noexcept { return own_.load(); }

    // Of the next operation. Ranks begin operations in the same order, so theirs are the same.
    [[nodiscard]] int next_tag() noexcept;
    // Of a persistent operation, which keeps it.
    [[nodiscard]] int next_kept_tag() noexcept;

    // All ranks together: what each knows of sizes becomes known to all.
    void share_sizes(Sizes& sizes) const;

    // A plan that nobody uses, or null.
    [[nodiscard]] std::unique_ptr<Running> take(const PlanKey& key);
    void give_back(std::unique_ptr<Running> running);

private:
    Caller caller_;
    FittingRules rules_;
    int most_tag_ = 0;
    Retired retired_ = nullptr;
    std::atomic<MPI_Comm> own_ = MPI_COMM_NULL;
    std::atomic<std::uint32_t> begun_ = 0;
    std::atomic<std::uint32_t> kept_ = 0;
    std::mutex mutex_;
    std::multimap<PlanKey, std::unique_ptr<Running>> idle_;
    std::int64_t idle_bytes_ = 0;
};

} // namespace sonde::tuned
