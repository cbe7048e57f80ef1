// When a repetition of a collective begins. Nothing here is inside a timed stay.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "core/lead.hpp"
#include "core/start_by.hpp"

namespace sonde {
class Timebase;
}

namespace sonde::collective {

class Operation;

// How long the windows are: a rank that is still busy when its window begins is late, and that
// repetition tells less. So windows grow where ranks were late, up to 16 times the first (where
// ranks lack processors no length would do), and shrink where none was.
class WindowLength {
public:
    explicit WindowLength(std::int64_t longest_call_ns) noexcept;
    // After some windows, of which `late` had a late rank.
    void adapt(int late, int windows) noexcept;
    [[nodiscard]] std::int64_t ns() const noexcept { return ns_; }

private:
    std::int64_t ns_;
    std::int64_t most_ns_;
};

class Starter {
public:
    static constexpr std::size_t windows_at_once = 32;

    // All ranks together for a window start, which does the operation a few times to see how long
    // it takes. `lead`: this rank's clock less rank 0's.
    Starter(StartBy start, MPI_Comm communicator, const Timebase& timebase, const LeadLine& lead,
            Operation& operation);

    // Returns when repetition i may begin here; i counts up from 0.
    void await(std::size_t i);
    // Ticks by which repetition i began after its window did.
    [[nodiscard]] std::uint64_t late_ticks(std::size_t i, std::uint64_t enter) const noexcept;
    [[nodiscard]] bool has_windows() const noexcept { return start_ == StartBy::window; }
    [[nodiscard]] std::int64_t window_ns() const noexcept { return length_.ns(); }

private:
    void try_out(Operation& operation);
    void agree_on_windows();
    void wait_for(std::uint64_t instant);
    [[nodiscard]] std::uint64_t begin_of(std::size_t i) const noexcept {
        return begin_ + (i % windows_at_once) * window_ticks_;
    }

    StartBy start_;
    MPI_Comm communicator_;
    const Timebase& timebase_;
    LeadLine lead_;
    WindowLength length_{0};
    std::int64_t slack_ns_ = 0;
    std::uint64_t begin_ = 0; // of the first of these windows
    std::uint64_t window_ticks_ = 0;
    int late_ = 0; // of these windows, here
    bool has_begun_ = false;
};

} // namespace sonde::collective
