// An algorithm is a schedule: from its parameters, each rank's ordered steps. A schedule is data;
// it is checked, shown, simulated packet by packet and executed by others.
//
// The data are named, not placed. An item is (origin, block, segment): the piece `segment` of what
// rank `origin` had at the start as its block `block`. What a block is depends on the family:
//
//   family           a rank starts with                        and must end with
//   broadcast        root: (root, b) for each block b of the   (root, every b)
//                    message, as the layout divides it
//   scatter          root: (root, d) for each rank d           rank d: (root, d)
//   gather           (rank, 0)                                 root: (every origin, 0)
//   allgather        (rank, 0)                                 (every origin, 0)
//   alltoall         (rank, d) for each rank d                 (every origin, rank)
//   barrier          (rank, 0), of no bytes: "rank is here"    (every origin, 0)
//   reduce           its contribution to every block of the    root: every block, of all ranks
//                    vector, as the layout divides it
//   allreduce        the same                                  every block, of all ranks
//   reduce_scatter   the same; block d is rank d's             rank d: block d, of all ranks
//
// In reductions, origin `partial` names what the rank has combined so far of a block (at the start
// its own contribution); an origin that is a rank names that rank's untouched contribution.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::schedule {

using Rank = std::int32_t;

constexpr Rank most_ranks = 1 << 20;
constexpr std::int64_t most_block_bytes = std::int64_t{1} << 40U;
constexpr std::int64_t most_segments = 1 << 20; // of one block
constexpr Rank most_ranks_of_pairs = 4096;      // where each pair's block has a size of its own
constexpr std::size_t most_levels = 8;          // of a hierarchy

enum class Family : std::uint8_t {
    broadcast,
    scatter,
    gather,
    allgather,
    alltoall,
    barrier,
    reduce,
    allreduce,
    reduce_scatter
};

[[nodiscard]] std::string_view family_name(Family family); // "reduce-scatter"
[[nodiscard]] bool is_reduction(Family family);

// Which partner a rank of a direct exchange has at which step.
enum class Permutation : std::uint8_t { shift, exclusive_or, edge_colour };

constexpr Rank partial = -1;
constexpr std::int32_t whole = std::numeric_limits<std::int32_t>::max(); // all segments of a block

// Items: origins x blocks x segments. Origins count on modulo the ranks and blocks modulo the
// layout's blocks; segments that a block does not have are left out.
struct Range {
    Rank origin = 0;
    Rank origins = 1;
    std::int32_t block = 0;
    std::int32_t blocks = 1;
    std::int32_t segment = 0;
    std::int32_t segments = whole;

    friend bool operator==(const Range&, const Range&) = default;
};

enum class Action : std::uint8_t {
    send,
    receive,
    copy,   // within the rank's memory: a cost, it changes nothing that is named
    combine // joins what was received aside from `peer` with the rank's partial result
};

// Where received data go: under their name, or aside, to be combined. What is received as `partial`
// under its name takes the place of what the rank had of that block.
enum class Place : std::uint8_t { named, aside };

// Whose contributions stand left in a combination; it matters where the operation does not commute.
enum class Left : std::uint8_t { own, received };

// One step of one rank.
//
// Steps are numbered from 0 in the order in which they come. A step may start when all steps with
// numbers below `after` are complete; steps from `after` on may be under way together with it.
// Sends start in their order, receives start in theirs, and neither waits for the other but through
// `after`. The n-th send from a to b meets the n-th receive at b from a; both name the same data in
// the same ranges. A send is complete when the receiver has it (rendezvous), or earlier.
//
// `round` numbers what ranks do before they wait for each other, and does not fall from step to
// step of a rank. `slot` is the step's place in lock-step time: messages of one slot are meant to
// cross the network together, and a send has the slot of its receive. Local steps have the slot of
// what they follow or prepare.
struct Step {
    Action action = Action::send;
    Place place = Place::named; // of a receive
    Left left = Left::own;      // of a combination
    Rank peer = -1;             // -1: copies
    std::int32_t round = 0;
    std::int64_t slot = 0;
    std::int64_t after = 0;
    std::int64_t bytes = 0; // of all its items; Layout::bytes says them
    Range data;
    std::span<const Range> more; // further items; valid until the generator is asked again
};

// One rank's steps, one after the other. Holds its place and little more. The schedule that gave it
// must outlive it.
class Steps {
public:
    Steps() = default;
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    virtual ~Steps() = default;

    // False: there are no more, and `step` is as it was.
    [[nodiscard]] virtual bool next(Step& step) = 0;
};

// How many bytes blocks have, and how they are divided into segments.
class Layout {
public:
    // Every origin has the same `blocks` blocks of `block_bytes` each. segment_bytes 0: a block is
    // one segment. A block of no bytes has no segment, and what has no items is not sent.
    static Layout equal(std::int32_t blocks, std::int64_t block_bytes, std::int64_t segment_bytes);
    // One size for each block, the same of every origin.
    static Layout by_block(std::vector<std::int64_t> bytes, std::int64_t segment_bytes);
    // One size for each origin, of its only block.
    static Layout by_origin(std::vector<std::int64_t> bytes, std::int64_t segment_bytes);
    // bytes[origin * ranks + destination].
    static Layout by_pair(std::vector<std::int64_t> bytes, Rank ranks, std::int64_t segment_bytes);
    // A message of so many bytes in `blocks` blocks: all of ceil(total / blocks) bytes, rounded up
    // to whole elements, as long as there are any; the last ones may be shorter or empty.
    static Layout divided(std::int64_t total_bytes, std::int32_t blocks, std::int64_t element_bytes,
                          std::int64_t segment_bytes);
    // One block of no bytes for each origin, which is sent nevertheless.
    static Layout tokens();

    [[nodiscard]] std::int32_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] std::int64_t bytes(Rank origin, std::int32_t block) const;
    [[nodiscard]] std::int32_t segments(Rank origin, std::int32_t block) const;
    // Of the last segment of a block what is left, of all others segment_bytes.
    [[nodiscard]] std::int64_t bytes(Rank origin, std::int32_t block, std::int32_t segment) const;
    [[nodiscard]] std::int64_t bytes(const Range& range, Rank ranks) const;
    // Whether a range names any item.
    [[nodiscard]] bool empty(const Range& range, Rank ranks) const;

private:
    enum class Kind : std::uint8_t { equal, by_block, by_origin, by_pair, divided, tokens };

    Layout(Kind kind, std::int32_t blocks, std::int64_t segment_bytes)
        : kind_(kind), blocks_(blocks), segment_bytes_(segment_bytes) {}
    [[nodiscard]] std::int64_t range_bytes(Rank origin, std::int32_t block,
                                           const Range& range) const;
    [[nodiscard]] std::int64_t bytes_before(std::int64_t block) const;

    Kind kind_;
    std::int32_t blocks_;
    std::int64_t segment_bytes_;
    std::int64_t block_bytes_ = 0;
    std::int64_t total_bytes_ = 0; // divided
    std::vector<std::int64_t> table_;
};

// What a schedule is made of. An algorithm refuses what it has no use for.
struct Parameters {
    Rank ranks = 1;
    Rank root = 0;
    // The message of a broadcast, the vector of a reduce or allreduce; of all other families the
    // block of one rank, or of one pair in alltoall.
    std::int64_t block_bytes = 0;
    // Unequal blocks, instead of block_bytes: one for each rank (scatter, gather, allgather,
    // reduce-scatter) or for each pair, sizes[origin * ranks + destination] (alltoall).
    std::vector<std::int64_t> sizes;
    std::int64_t segment_bytes = 0; // a packet's payload; 0: blocks are not divided
    std::int64_t element_bytes = 1; // what a reduction does not cut
    bool commutative = true;        // whether the reduction's operation commutes
    Rank fan_out = 0;               // omega of the group shuffle; 0: the algorithm's own
    std::optional<Permutation> permutation;
    std::int64_t window = 0;     // global window: packets under way from a rank; 0: no limit
    std::vector<Rank> hierarchy; // d_1 hosts at a leaf switch, d_2 leaf switches at a parent ...
    bool remap = false;          // contention-aware numbers, by Eq. (6.3); needs a hierarchy
};

// What an algorithm says of its schedule, for `schedule check` to prove. No value: nothing claimed.
struct Claims {
    // In every slot each rank is sent to by at most one other, and sends to at most one.
    bool node_contention_free = false;
    // In every slot a leaf switch's hosts send to hosts of one switch, and each switch is sent to
    // by one (its own counts as one).
    bool switch_contention_free = false;
    // A rank does not send across to the same leaf switch in two slots in a row.
    bool switch_changes = false;
    bool rank_order = false; // a reduction combines in the order of the ranks
    // Counts, of the rank (and round) with most: distinct rounds with messages, times that a rank
    // waits for a round to end, partners that it sends to in a round, messages and bytes it sends.
    std::optional<std::int64_t> rounds = std::nullopt;
    std::optional<std::int64_t> stalls = std::nullopt;
    std::optional<Rank> fan_out = std::nullopt;
    std::optional<std::int64_t> messages = std::nullopt;
    std::optional<std::int64_t> bytes = std::nullopt;
};

// An algorithm with its parameters. Immutable: threads may share it.
class Schedule {
public:
    Schedule() = default;
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;
    virtual ~Schedule() = default;

    [[nodiscard]] virtual const Parameters& parameters() const = 0;
    [[nodiscard]] virtual const Layout& layout() const = 0;
    [[nodiscard]] virtual Claims claims() const = 0;
    [[nodiscard]] virtual std::unique_ptr<Steps> steps(Rank rank) const = 0;
    // Global window W_g: a rank starts a send only while fewer of its messages than this are under
    // way to all partners together; receiving never waits for it. 0: no limit.
    [[nodiscard]] virtual std::int64_t window() const { return 0; }
};

// Which parameters an algorithm has a use for, beside ranks, block_bytes and element_bytes.
struct Uses {
    bool root = false;
    bool segments = false;
    bool sizes = false;
    bool fan_out = false;
    bool permutation = false;
    bool window = false;
    bool hierarchy = false;
    bool remap = false;        // contention-aware numbers
    bool power_of_two = false; // needs so many ranks
    bool commutative = false;  // needs an operation that commutes
    // What a rank does follows from the sizes of what it sends and receives itself: it needs to
    // know no others.
    bool own_sizes = false;
};

struct Algorithm {
    std::string_view name; // "broadcast/binomial"
    Family family = Family::broadcast;
    std::string_view summary; // half a sentence
    Uses uses;
    // What comes has passed check(); throws Failure("bad_request") where that is not enough.
    std::unique_ptr<Schedule> (*make)(const Parameters& parameters) = nullptr;
};

// Throws Failure("bad_request") with what was given and what is possible.
void check(const Algorithm& algorithm, const Parameters& parameters);

// All algorithms, family by family. A family's own table is a function in its header, such as
// `std::span<const Algorithm> alltoall_algorithms()` in schedule/alltoall.hpp; registry.cpp joins
// them.
[[nodiscard]] std::span<const Algorithm> algorithms();
// Throws Failure("bad_request") naming the algorithms there are.
[[nodiscard]] const Algorithm& find_algorithm(std::string_view name);
// find_algorithm, check and make.
[[nodiscard]] std::unique_ptr<Schedule> make_schedule(std::string_view name,
                                                      const Parameters& parameters);

} // namespace sonde::schedule
