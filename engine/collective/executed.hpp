// An operation by one of our own schedules, over MPI's messages between two ranks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "schedule/execution.hpp"
#include "schedule/read.hpp"

namespace sonde::collective {

struct Context;
struct Entry;

// The messages of one rank. Behind a window sends are synchronous: complete when the other rank
// takes them.
class MpiCarrier {
public:
    MpiCarrier(const Context& context, bool has_window)
        : context_(&context), has_window_(has_window) {}

    void send(std::span<const std::byte> bytes, schedule::Rank peer, std::int64_t number);
    void receive(std::span<std::byte> bytes, schedule::Rank peer, std::int64_t number);
    void combine(const std::byte* left, std::byte* into, std::size_t bytes) const;

    template <class Completed>
    void wait(bool all, Completed completed) {
        find_done(all);
        for (const std::int64_t number : done_) {
            completed(number);
        }
    }

private:
    [[nodiscard]] MPI_Request* add(std::int64_t number);
    // Into done_, and out of the others.
    void find_done(bool all);

    const Context* context_;
    bool has_window_;
    std::vector<MPI_Request> requests_;
    std::vector<std::int64_t> numbers_; // of the steps, for each request
    std::vector<int> which_;
    std::vector<std::int64_t> done_;
};

class Executed {
public:
    // Plans for the context's root. Throws Failure("bad_request") where the algorithm has no use
    // for what was asked.
    Executed(Context& context, const Entry& entry);

    // Before a repetition, outside of the timed part.
    void turn_to_root();
    void run();

private:
    using Execution = schedule::Execution<MpiCarrier>;

    Context* context_;
    const schedule::Algorithm* algorithm_;
    schedule::Parameters parameters_;
    std::map<int, Execution> of_roots_;
    Execution* now_ = nullptr;
};

// The entry's way by what the context's choices ask for. Throws Failure("bad_request") where its
// operation has no schedules.
[[nodiscard]] Entry by_schedule(Entry entry, const schedule::Asked& asked);

} // namespace sonde::collective
