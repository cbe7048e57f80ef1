#include "collective/operation.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "core/failure.hpp"

namespace sonde::collective {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// MPI-3.1 counts elements in an int.
int element_count(const Setup& setup, std::size_t element_bytes) {
    const std::size_t count = setup.message_bytes / element_bytes;
    if (setup.message_bytes % element_bytes != 0) {
        throw Failure("bad_request", setup.operation + ": message_bytes is " +
                                         std::to_string(setup.message_bytes) +
                                         ", expected a multiple of " +
                                         std::to_string(element_bytes));
    }
    if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw Failure("bad_request",
                      setup.operation + ": message_bytes is " +
                          std::to_string(setup.message_bytes) + ", expected at most " +
                          std::to_string(std::numeric_limits<int>::max()) + " elements of " +
                          std::to_string(element_bytes) + " bytes");
    }
    return static_cast<int>(count);
}

std::size_t all_blocks_bytes(const Setup& setup) {
    const auto ranks = static_cast<std::size_t>(setup.ranks);
    if (setup.message_bytes > std::numeric_limits<std::size_t>::max() / ranks) {
        throw Failure("no_memory", "alltoall: blocks for all ranks exceed any memory");
    }
    return setup.message_bytes * ranks;
}

// Multiplies each 8-byte word, wrapping.
void scale(std::span<std::byte> bytes, std::uint64_t factor) {
    for (std::size_t at = 0; at + word_bytes <= bytes.size(); at += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, word_bytes);
        word *= factor;
        std::memcpy(bytes.data() + at, &word, word_bytes);
    }
}

void wipe(std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0}); }

} // namespace

Barrier::Barrier(const Setup& setup) : communicator_(setup.communicator) {
    if (setup.message_bytes != 0) {
        throw Failure("bad_request", "barrier: message_bytes is " +
                                         std::to_string(setup.message_bytes) + ", expected 0");
    }
}

Broadcast::Broadcast(const Setup& setup)
    : communicator_(setup.communicator), root_(setup.root), is_root_(setup.rank == setup.root),
      count_(element_count(setup, 1)),
      least_bytes_sent_(is_root_ && setup.ranks > 1 ? setup.message_bytes : 0), seed_(setup.seed),
      message_(setup.message_bytes, setup.seed) {}

void Broadcast::clear() {
    if (!is_root_) {
        wipe(message_.bytes());
    }
}

bool Broadcast::intact() { return Payload::first_difference(message_.bytes(), seed_) < 0; }

AllReduce::AllReduce(const Setup& setup)
    : communicator_(setup.communicator), count_(element_count(setup, word_bytes)),
      least_bytes_sent_(setup.ranks > 1 ? setup.message_bytes : 0),
      given_(setup.message_bytes, setup.seed), sum_(setup.message_bytes, setup.seed),
      expected_(setup.check_data ? setup.message_bytes : 0, setup.seed) {
    const auto ranks = static_cast<std::uint64_t>(setup.ranks);
    scale(given_.bytes(), static_cast<std::uint64_t>(setup.rank) + 1);
    scale(expected_.bytes(), ranks * (ranks + 1) / 2);
}

void AllReduce::clear() { wipe(sum_.bytes()); }

bool AllReduce::intact() { return std::ranges::equal(sum_.bytes(), expected_.bytes()); }

AllToAll::AllToAll(const Setup& setup)
    : communicator_(setup.communicator), rank_(setup.rank), ranks_(setup.ranks),
      count_(element_count(setup, 1)),
      least_bytes_sent_(setup.message_bytes * static_cast<std::size_t>(setup.ranks - 1)),
      seed_(setup.seed),
      given_(all_blocks_bytes(setup), setup.seed + static_cast<std::uint64_t>(setup.rank)),
      got_(all_blocks_bytes(setup), setup.seed) {}

void AllToAll::clear() { wipe(got_.bytes()); }

bool AllToAll::intact() {
    const auto block_bytes = static_cast<std::size_t>(count_);
    const std::size_t place = static_cast<std::size_t>(rank_) * block_bytes;
    for (int source = 0; source < ranks_; ++source) {
        const auto block =
            got_.bytes().subspan(static_cast<std::size_t>(source) * block_bytes, block_bytes);
        if (Payload::first_difference(block, seed_ + static_cast<std::uint64_t>(source), place) >=
            0) {
            return false;
        }
    }
    return true;
}

} // namespace sonde::collective
