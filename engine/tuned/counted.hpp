// What a program calls, counted: of each kind of call how many there were, and for how long.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tuned/operation.hpp"
#include "tuned/ways.hpp"

namespace sonde::tuned {

// Operations that are counted, though there are no rules for them.
enum class Other : std::uint8_t {
    scan,
    exscan,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw
};

constexpr std::array<std::string_view, 7> other_names{"scan",
                                                      "exscan",
                                                      "neighbor_allgather",
                                                      "neighbor_allgatherv",
                                                      "neighbor_alltoall",
                                                      "neighbor_alltoallv",
                                                      "neighbor_alltoallw"};

// What calls have in common that count as of one kind.
struct CallKind {
    std::size_t operation = 0; // of operation_rows, behind them of other_names
    Form form = Form::blocking;
    bool is_root = false;
    bool is_in_place = false;
    bool has_own_operation = false; // that the program made
    bool has_gaps = false;          // in its datatype
    bool is_rare = false;           // arguments that schedules do not take; its bytes are not known
    int ranks = 0;                  // of the communicator; 0: of two groups, or of several programs
    int ranks_per_host = 0;         // of them, on the host with most
    std::int64_t bytes = 0;         // netsonde's size, as far as this rank knows it

    bool operator==(const CallKind&) const = default;
};

struct HashOfKind {
    [[nodiscard]] std::size_t operator()(const CallKind& kind) const noexcept;
};

// The counts of a rank. Every thread may add; a file has them, from time to time and at the end.
class CallCounts {
public:
    using Clock = std::chrono::steady_clock;

    // How the program ended, as far as the rank knows.
    enum class End : std::uint8_t { running, finalize, abort, exit };

    CallCounts(const std::string& folder, int rank, int ranks);

    void add(const CallKind& kind, Clock::time_point begin, Clock::time_point end) noexcept;
    // The last word: what comes later does not count. The first end is the one that is told.
    void finish(End end) noexcept;

private:
    struct Sum {
        std::uint64_t calls = 0;
        std::int64_t time_ns = 0;
    };

    [[nodiscard]] Sum& sum_of(const CallKind& kind);
    void write(End end, Clock::time_point now) noexcept;
    [[nodiscard]] std::string text(End end, Clock::time_point now) const;

    std::string path_;
    int process_;
    int rank_;
    int ranks_;
    Clock::time_point begin_;
    std::mutex mutex_;
    std::unordered_map<CallKind, Sum, HashOfKind> sums_;
    Sum beyond_; // of kinds that are too many
    Clock::time_point next_write_;
    bool is_finished_ = false;
    bool has_complained_ = false;
};

} // namespace sonde::tuned
