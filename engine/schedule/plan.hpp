// A schedule over memory: a rank's named items get places once, before anything is sent, and its
// steps say which bytes go where.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

constexpr std::int64_t most_planned_bytes = std::int64_t{1} << 36U;  // between, of one rank
constexpr std::int64_t most_planned_pieces = std::int64_t{1} << 26U; // of one rank

// What the caller gives and gets, as MPI's buffers of the same operation, and what is only on the
// way. A broadcast has all in `got`.
enum class Memory : std::uint8_t { given, got, between };

struct Piece {
    Memory memory = Memory::given;
    std::int64_t place = 0;
    std::int64_t bytes = 0;
};

struct Copy {
    Piece from;
    Memory to = Memory::got;
    std::int64_t place = 0;
};

// Bytes that are joined with others of the same block. What the rank has is at `own`, or still
// where it was given: then the first joining moves it.
struct Joining {
    Piece own;
    std::int64_t received = 0; // between
    std::int64_t given = -1;   // -1: it is at `own`
};

struct PlannedStep {
    Action action = Action::copy; // copies are without work: nothing has to lie elsewhere
    Left left = Left::own;
    Rank peer = -1;
    std::int64_t after = 0;
    std::int64_t bytes = 0;
    std::int64_t together = -1; // between: where a message of several pieces is put together
    std::uint32_t first = 0;    // of Plan::pieces, or of Plan::joinings
    std::uint32_t count = 0;
};

// One rank's.
struct Plan {
    std::vector<PlannedStep> steps;
    std::vector<Piece> pieces;
    std::vector<Joining> joinings;
    std::vector<Copy> before; // the first step
    std::vector<Copy> after;  // the last
    std::int64_t between_bytes = 0;
    std::int64_t window = 0; // sends under way at most; 0: no limit
};

// Where the caller has its blocks, in bytes: given[b] block b of what it gives, got[o] what comes
// from rank o, or block o of a vector. Empty: one behind the other.
struct CallersPlaces {
    std::vector<std::int64_t> given;
    std::vector<std::int64_t> got;
};

// Throws Failure("bad_request") where it would need more memory than the limits above.
[[nodiscard]] Plan plan_of(const Schedule& schedule, Family family, Rank rank,
                           const CallersPlaces& places = {});

} // namespace sonde::schedule
