// When a repetition of a collective begins. Nothing here is inside a timed stay.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "collective/start_by.hpp"
#include "collective/window_plan.hpp"
#include "core/lead.hpp"

namespace sonde {
class Timebase;
}

namespace sonde::collective {

class Operation;

class Starter {
public:
    // All ranks together for a window start, which does the operation a few times to see how long
    // it takes. `lead`: this rank's clock less rank 0's.
    Starter(StartBy start, const WindowBounds& bounds, MPI_Comm communicator,
            const Timebase& timebase, const LeadLine& lead, Operation& operation);

    // Returns when repetition i may begin here; i counts up from 0.
    void await(std::size_t i);
    // Ticks by which repetition i began after its window did.
    [[nodiscard]] std::uint64_t late_ticks(std::size_t i, std::uint64_t enter) const noexcept;
    [[nodiscard]] bool has_windows() const noexcept { return start_ == StartBy::window; }
    [[nodiscard]] const WindowPlan& plan() const noexcept { return plan_; }

private:
    void try_out(Operation& operation);
    void agree_on_windows(std::size_t i);
    void wait_for(std::size_t i);
    [[nodiscard]] std::uint64_t begin_of(std::size_t i) const noexcept {
        return begin_ + (i - first_) * window_ticks_;
    }

    StartBy start_;
    MPI_Comm communicator_;
    const Timebase& timebase_;
    LeadLine lead_;
    WindowBounds bounds_;
    WindowPlan plan_;
    std::size_t first_ = 0;   // of the windows that are agreed on,
    std::size_t end_ = 0;     // and the one behind the last of them
    std::uint64_t begin_ = 0; // of the first of them
    std::uint64_t window_ticks_ = 0;
    std::uint64_t late_after_ticks_ = 0;
    Missed missed_; // of these windows, here
};

} // namespace sonde::collective
