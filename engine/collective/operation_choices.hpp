// What may be chosen of an MPI operation beside its size, its root and its partners.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/read.hpp"
#include "transport/link/options.hpp"

namespace sonde {

// Where the data of a repetition is before it.
enum class CacheState : std::uint8_t {
    warm,    // where the repetition before left it
    flushed, // in memory: a buffer larger than the last-level cache was walked through since
    rotated, // in memory: other buffers, larger than that cache together, were in use since
    fresh    // what a rank gives was written anew by it: in its own cache, and in no other's
};

// How ranks' words may be joined: docs/methods/collectives.md, Reductions.
constexpr std::array<std::string_view, 8> reduction_names{
    "sum", "min", "max", "or", "float-sum", "ordered", "own-sum", "null"};
// What they are made of, where MPI joins them.
constexpr std::array<std::string_view, 6> datatype_names{"char",  "byte",   "int",
                                                         "float", "double", "uint64"};

struct OperationChoices {
    std::vector<std::array<int, 2>> partners; // of pattern list; ranks that are not named sit out
    int window = 0;                           // messages at once; 0: as many as usual
    std::string reduction;                    // how ranks' words are joined; empty: added
    std::string datatype;                     // of what they are made; empty: uint64
    CacheState cache = CacheState::warm;
    std::size_t cache_bytes = 0; // what is walked through or taken in turns; 0: twice the cache
    std::size_t align_bytes = 0; // buffers begin so far behind the begin of a page
    bool overlap = false;        // computing beside the started operation
    int polls = 0;               // calls of MPI_Testall while computing
    bool both_timers = false;    // MPI_Wtime is read beside the clock, around the same calls
    std::optional<schedule::Asked> schedule; // ours, instead of the library's own way
    std::optional<LinkOptions> frames;       // carry its messages; none: MPI does
    std::string library_algorithm;           // the library's own of that name; empty: as it chooses
    bool count_partners = false;             // what went to each rank over TCP is told
};

} // namespace sonde
