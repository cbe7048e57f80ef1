// What the tests between real ranks have in common.
#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/collective.hpp"
#include "collective/entry.hpp"
#include "core/clock.hpp"

namespace ranks {

using namespace sonde;
using namespace sonde::collective;

constexpr std::size_t repetitions = 2; // data of the first cannot pass for the second's

inline Setup setup(const std::string& operation, std::size_t message_bytes) {
    Setup asked{.operation = operation,
                .message_bytes = message_bytes,
                .count = repetitions,
                .check_data = true,
                .seed = 11,
                .communicator = MPI_COMM_WORLD};
    MPI_Comm_rank(MPI_COMM_WORLD, &asked.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &asked.ranks);
    return asked;
}

inline Timebase& timebase() {
    static Timebase shared;
    return shared;
}

inline std::int64_t corrupt(const Setup& asked, const Entry& entry) {
    const auto measurement = prepare(asked, entry);
    const Result result = measurement->run(timebase(), {});
    CHECK(result.duration_ns.size() == asked.count);
    CHECK(result.begin_ns.size() == asked.count);
    CHECK(result.start_ns <= result.end_ns);
    return result.corrupt;
}

inline void require_intact(const Setup& asked) {
    INFO(asked.operation, " of ", asked.message_bytes, " bytes, rank ", asked.rank, " of ",
         asked.ranks, ", root ", asked.root, ", pattern ", asked.pattern, ":", asked.distance,
         asked.uneven ? ", uneven" : "", asked.rotate_root ? ", rotating" : "");
    CHECK(corrupt(asked, find_entry(asked.operation)) == 0);
}

inline std::vector<std::size_t> sizes_of(const Entry& entry) {
    switch (entry.sizes) {
    case Sizes::any:
        return {0, 1, 1003};
    case Sizes::words:
        return {0, 8, 1000};
    case Sizes::records:
        return {0, 16, 1008};
    case Sizes::one_word:
        return {8};
    case Sizes::none:
        break;
    }
    return {0};
}

// A large message goes another way through most MPIs than a small one.
inline std::size_t large_of(const Entry& entry) {
    const bool has_sizes = entry.sizes != Sizes::one_word && entry.sizes != Sizes::none;
    return has_sizes ? 100'000 / 16 * 16 : sizes_of(entry).front();
}

inline bool is_possible(const Entry& entry) {
    return entry.partnered == Partnered::none || setup("", 0).ranks > 1;
}

} // namespace ranks
