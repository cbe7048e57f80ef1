// The operations: each a class with what it needs (built before anything is timed), the measured
// call, and its data check. To add one, write the class and enter it in the table in
// collective.cpp.
//
// clear() makes sure that data left over from the repetition before cannot pass for new data;
// intact() says whether this rank now holds what it must. Both are called with check_data only,
// outside the timed part.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <span>

#include "collective/collective.hpp"
#include "core/payload.hpp"

namespace sonde::collective {

template <class T>
concept Operation = std::constructible_from<T, const Setup&> && requires(T& t) {
    { t.call() } -> std::same_as<int>; // MPI's status
    { t.clear() } -> std::same_as<void>;
    { t.intact() } -> std::same_as<bool>;
    // Payload that this rank must send in one repetition, whatever the algorithm.
    { t.least_bytes_sent() } -> std::same_as<std::size_t>;
};

class Barrier {
public:
    explicit Barrier(const Setup& setup);
    int call() { return MPI_Barrier(communicator_); }
    void clear() {}
    [[nodiscard]] static bool intact() { return true; }
    [[nodiscard]] static std::size_t least_bytes_sent() { return 0; }

private:
    MPI_Comm communicator_;
};

class Broadcast {
public:
    explicit Broadcast(const Setup& setup);
    int call() {
        return MPI_Bcast(message_.bytes().data(), count_, MPI_BYTE, root_, communicator_);
    }
    void clear();
    [[nodiscard]] bool intact();
    [[nodiscard]] std::size_t least_bytes_sent() const { return least_bytes_sent_; }
    [[nodiscard]] std::span<std::byte> received() { return message_.bytes(); }

private:
    MPI_Comm communicator_;
    int root_;
    bool is_root_;
    int count_;
    std::size_t least_bytes_sent_;
    std::uint64_t seed_;
    Payload message_;
};

// The sum of vectors of 8-byte unsigned integers, which wraps and is therefore exact. Rank r gives
// (r + 1) times the seed's words.
class AllReduce {
public:
    explicit AllReduce(const Setup& setup);
    int call() {
        return MPI_Allreduce(given_.bytes().data(), sum_.bytes().data(), count_, MPI_UINT64_T,
                             MPI_SUM, communicator_);
    }
    void clear();
    [[nodiscard]] bool intact();
    [[nodiscard]] std::size_t least_bytes_sent() const { return least_bytes_sent_; }
    [[nodiscard]] std::span<std::byte> received() { return sum_.bytes(); }

private:
    MPI_Comm communicator_;
    int count_;
    std::size_t least_bytes_sent_;
    Payload given_;
    Payload sum_;
    Payload expected_; // empty without check_data
};

// Every rank sends its own block to every rank. Rank r's blocks are one after the other in the
// bytes of seed + r.
class AllToAll {
public:
    explicit AllToAll(const Setup& setup);
    int call() {
        return MPI_Alltoall(given_.bytes().data(), count_, MPI_BYTE, got_.bytes().data(), count_,
                            MPI_BYTE, communicator_);
    }
    void clear();
    [[nodiscard]] bool intact();
    [[nodiscard]] std::size_t least_bytes_sent() const { return least_bytes_sent_; }
    [[nodiscard]] std::span<std::byte> received() { return got_.bytes(); }

private:
    MPI_Comm communicator_;
    int rank_;
    int ranks_;
    int count_;
    std::size_t least_bytes_sent_;
    std::uint64_t seed_;
    Payload given_;
    Payload got_;
};

} // namespace sonde::collective
