// The library's state in a process of an MPI program, from MPI_Init to MPI_Finalize.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuned/background.hpp"
#include "tuned/counted.hpp"
#include "tuned/group.hpp"
#include "tuned/rules.hpp"
#include "tuned/ways.hpp"

namespace sonde::tuned {

// Whether an operation of reductions is one of MPI's own.
[[nodiscard]] bool is_mpis_own(MPI_Op operation);

class Library {
public:
    // Of this process.
    static Library& here();

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    // The level of threads that MPI is asked for: what the program asks for, or more.
    [[nodiscard]] static int thread_level(int asked) noexcept;
    // After MPI's start, all ranks of the world together. Whatever fails, all calls pass on.
    void begin() noexcept;
    // Before MPI's end, all ranks of the world together.
    void end() noexcept;

    // Whether calls of an operation need a second look at all.
    [[nodiscard]] bool watches(Operation operation) const noexcept {
        return watched_[static_cast<std::size_t>(operation)];
    }
    // Null where nothing is counted.
    [[nodiscard]] CallCounts* counts() const noexcept { return counts_.get(); }
    // Before the program's end, whatever the way: what it called is told.
    void tell_counts(CallCounts::End end) const noexcept;
    // May throw MpiError.
    [[nodiscard]] std::shared_ptr<Group> group_of(MPI_Comm communicator);
    // After a communicator was made: one beside it, where rules may need it before a blocking call.
    void take_in(MPI_Comm made) noexcept;
    // Frees communicators whose program's one is gone.
    void free_retired() noexcept;

    // The rule by which a call does not pass on, or null. Blocking and persistent forms may talk to
    // the other ranks. May throw MpiError.
    [[nodiscard]] const Rule* rule_for(Wanted& wanted, Form form, MPI_Comm communicator,
                                       Group& group);
    void passed(Operation operation, Form form, Passed why) noexcept {
        ways_->passed(operation, form, why);
    }
    void ran(Operation operation, Form form, const Rule& rule) noexcept {
        ways_->ran(operation, form, rule);
    }

    [[nodiscard]] Background& background() noexcept { return background_; }

    // A communicator of this process alone, by which it tells itself that something is done: a
    // receive that waits there gets a message, which is too long where it failed.
    [[nodiscard]] MPI_Comm itself() const noexcept { return itself_; }
    [[nodiscard]] int next_own_tag() noexcept;
    void tell_itself(int tag, int status) noexcept;

private:
    Library() = default;

    void read(const std::optional<std::string>& text);
    void meet();
    void count_calls(int rank);
    [[nodiscard]] std::shared_ptr<Group> make_group(MPI_Comm communicator) const;
    [[nodiscard]] std::optional<int> ranks_per_host(MPI_Comm communicator, int ranks) const;
    static void retire(MPI_Comm own);

    std::array<bool, operation_count> watched_{};
    std::vector<Rule> rules_;
    std::unique_ptr<Ways> ways_;
    std::unique_ptr<CallCounts> counts_;
    std::vector<std::int64_t> hosts_; // of the world's ranks
    MPI_Group world_ = MPI_GROUP_NULL;
    int most_tag_ = 32767;
    MPI_Comm itself_ = MPI_COMM_NULL;
    std::atomic<std::uint32_t> told_ = 0;
    int keyval_ = MPI_KEYVAL_INVALID;
    bool reports_ = false;
    bool has_threads_ = false;
    Background background_;
    std::mutex mutex_;
    std::vector<MPI_Comm> retired_;
};

} // namespace sonde::tuned
