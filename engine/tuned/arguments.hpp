// The arguments of each collective operation, in MPI's order, and what they mean: a type for each.
//
//   operation, communicator
//   root()         0 where there is none
//   is_usual(c)    whether a schedule may take them; MPI sees to what is wrong, or rare. All ranks
//                  of a correct program answer alike.
//   bytes(c)       netsonde's size of it; of uneven operations 0
//   sizes(c)       of uneven operations; else empty
//   joined()       of reductions
//   memories(c)    the program's
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "tuned/call.hpp"

namespace sonde::tuned {

[[nodiscard]] inline std::byte* memory_at(const void* buffer, std::int64_t offset = 0) {
    return static_cast<std::byte*>(const_cast<void*>(buffer)) + offset;
}

[[nodiscard]] inline std::int64_t size_of(MPI_Datatype type) { return facts_of(type).bytes; }

// So many elements from a displacement in elements on.
[[nodiscard]] inline Part part_of(const void* buffer, std::int64_t count, std::int64_t displacement,
                                  MPI_Datatype type) {
    const std::int64_t offset = displacement == 0 ? 0 : displacement * facts_of(type).extent;
    return {memory_at(buffer, offset), count, type};
}

[[nodiscard]] inline bool is_usual_part(int count, MPI_Datatype type) {
    return count >= 0 && type != MPI_DATATYPE_NULL;
}

[[nodiscard]] inline bool is_rank(int root, const Caller& c) { return root >= 0 && root < c.ranks; }

struct Unrooted {
    [[nodiscard]] static int root() { return 0; }
};

struct Even {
    [[nodiscard]] static Sizes sizes(const Caller& /*c*/) { return {}; }
};

struct Moving {
    [[nodiscard]] static Joined joined() { return {}; }
};

struct Barrier : Unrooted, Even, Moving {
    static constexpr Operation operation = Operation::barrier;
    MPI_Comm communicator;

    explicit Barrier(MPI_Comm comm) : communicator(comm) {}
    [[nodiscard]] static bool is_usual(const Caller& /*c*/) { return true; }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] static Memories memories(const Caller& /*c*/) { return {}; }
};

struct Bcast : Even, Moving {
    static constexpr Operation operation = Operation::bcast;
    void* buffer;
    int count;
    MPI_Datatype type;
    int root_rank;
    MPI_Comm communicator;

    Bcast(void* b, int n, MPI_Datatype t, int r, MPI_Comm comm)
        : buffer(b), count(n), type(t), root_rank(r), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_usual_part(count, type) && is_rank(root_rank, c);
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const { return count * size_of(type); }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        (c.rank == root_rank ? found.given : found.got) = {{memory_at(buffer), count, type}};
        return found;
    }
};

// One part for, or from, each rank at the root; all of one size.
struct Rooted : Even, Moving {
    const void* given;
    int given_count;
    MPI_Datatype given_type;
    void* got;
    int got_count;
    MPI_Datatype got_type;
    int root_rank;
    MPI_Comm communicator;

    Rooted(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root,
           MPI_Comm comm)
        : given(s), given_count(sn), given_type(st), got(r), got_count(rn), got_type(rt),
          root_rank(root), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
};

struct Gather : Rooted {
    static constexpr Operation operation = Operation::gather;
    using Rooted::Rooted;

    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_rank(root_rank, c) &&
               (c.rank == root_rank
                    ? is_usual_part(got_count, got_type) &&
                          (given == MPI_IN_PLACE || is_usual_part(given_count, given_type))
                    : is_usual_part(given_count, given_type));
    }
    [[nodiscard]] std::int64_t bytes(const Caller& c) const {
        return c.rank == root_rank ? got_count * size_of(got_type)
                                   : given_count * size_of(given_type);
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given = {{memory_at(given), given_count, given_type}};
        for (int rank = 0; c.rank == root_rank && rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_count, std::int64_t{rank} * got_count, got_type));
        }
        if (given == MPI_IN_PLACE) {
            found.given = {found.got[static_cast<std::size_t>(c.rank)]};
        }
        return found;
    }
};

struct Scatter : Rooted {
    static constexpr Operation operation = Operation::scatter;
    using Rooted::Rooted;

    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_rank(root_rank, c) &&
               (c.rank == root_rank
                    ? is_usual_part(given_count, given_type) &&
                          (got == MPI_IN_PLACE || is_usual_part(got_count, got_type))
                    : is_usual_part(got_count, got_type));
    }
    [[nodiscard]] std::int64_t bytes(const Caller& c) const {
        return c.rank == root_rank ? given_count * size_of(given_type)
                                   : got_count * size_of(got_type);
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        for (int rank = 0; c.rank == root_rank && rank < c.ranks; ++rank) {
            found.given.push_back(
                part_of(given, given_count, std::int64_t{rank} * given_count, given_type));
        }
        found.got = {got == MPI_IN_PLACE ? found.given[static_cast<std::size_t>(c.rank)]
                                         : Part{memory_at(got), got_count, got_type}};
        return found;
    }
};

struct Gatherv : Moving {
    static constexpr Operation operation = Operation::gatherv;
    const void* given;
    int given_count;
    MPI_Datatype given_type;
    void* got;
    const int* got_counts;
    const int* got_places;
    MPI_Datatype got_type;
    int root_rank;
    MPI_Comm communicator;

    Gatherv(const void* s, int sn, MPI_Datatype st, void* r, const int* rn, const int* rd,
            MPI_Datatype rt, int root, MPI_Comm comm)
        : given(s), given_count(sn), given_type(st), got(r), got_counts(rn), got_places(rd),
          got_type(rt), root_rank(root), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_rank(root_rank, c) &&
               (c.rank == root_rank ? got_type != MPI_DATATYPE_NULL
                                    : is_usual_part(given_count, given_type));
    }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found(static_cast<std::size_t>(c.ranks));
        if (c.rank != root_rank) {
            found[static_cast<std::size_t>(c.rank)] = given_count * size_of(given_type);
            return found;
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
            found[i] = got_counts[i] * size_of(got_type);
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given = {{memory_at(given), given_count, given_type}};
        for (int rank = 0; c.rank == root_rank && rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_counts[rank], got_places[rank], got_type));
        }
        if (given == MPI_IN_PLACE) {
            found.given = {found.got[static_cast<std::size_t>(c.rank)]};
        }
        return found;
    }
};

struct Scatterv : Moving {
    static constexpr Operation operation = Operation::scatterv;
    const void* given;
    const int* given_counts;
    const int* given_places;
    MPI_Datatype given_type;
    void* got;
    int got_count;
    MPI_Datatype got_type;
    int root_rank;
    MPI_Comm communicator;

    Scatterv(const void* s, const int* sn, const int* sd, MPI_Datatype st, void* r, int rn,
             MPI_Datatype rt, int root, MPI_Comm comm)
        : given(s), given_counts(sn), given_places(sd), given_type(st), got(r), got_count(rn),
          got_type(rt), root_rank(root), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_rank(root_rank, c) && (c.rank == root_rank ? given_type != MPI_DATATYPE_NULL
                                                             : is_usual_part(got_count, got_type));
    }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found(static_cast<std::size_t>(c.ranks));
        if (c.rank != root_rank) {
            found[static_cast<std::size_t>(c.rank)] = got_count * size_of(got_type);
            return found;
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
            found[i] = given_counts[i] * size_of(given_type);
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        for (int rank = 0; c.rank == root_rank && rank < c.ranks; ++rank) {
            found.given.push_back(
                part_of(given, given_counts[rank], given_places[rank], given_type));
        }
        found.got = {got == MPI_IN_PLACE ? found.given[static_cast<std::size_t>(c.rank)]
                                         : Part{memory_at(got), got_count, got_type}};
        return found;
    }
};

struct Allgather : Unrooted, Even, Moving {
    static constexpr Operation operation = Operation::allgather;
    const void* given;
    int given_count;
    MPI_Datatype given_type;
    void* got;
    int got_count;
    MPI_Datatype got_type;
    MPI_Comm communicator;

    Allgather(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt,
              MPI_Comm comm)
        : given(s), given_count(sn), given_type(st), got(r), got_count(rn), got_type(rt),
          communicator(comm) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return is_usual_part(got_count, got_type) &&
               (given == MPI_IN_PLACE || is_usual_part(given_count, given_type));
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const {
        return got_count * size_of(got_type);
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_count, std::int64_t{rank} * got_count, got_type));
        }
        found.given = {given == MPI_IN_PLACE ? found.got[static_cast<std::size_t>(c.rank)]
                                             : Part{memory_at(given), given_count, given_type}};
        return found;
    }
};

struct Allgatherv : Unrooted, Moving {
    static constexpr Operation operation = Operation::allgatherv;
    const void* given;
    int given_count;
    MPI_Datatype given_type;
    void* got;
    const int* got_counts;
    const int* got_places;
    MPI_Datatype got_type;
    MPI_Comm communicator;

    Allgatherv(const void* s, int sn, MPI_Datatype st, void* r, const int* rn, const int* rd,
               MPI_Datatype rt, MPI_Comm comm)
        : given(s), given_count(sn), given_type(st), got(r), got_counts(rn), got_places(rd),
          got_type(rt), communicator(comm) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return got_type != MPI_DATATYPE_NULL &&
               (given == MPI_IN_PLACE || is_usual_part(given_count, given_type));
    }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.push_back(got_counts[rank] * size_of(got_type));
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_counts[rank], got_places[rank], got_type));
        }
        found.given = {given == MPI_IN_PLACE ? found.got[static_cast<std::size_t>(c.rank)]
                                             : Part{memory_at(given), given_count, given_type}};
        return found;
    }
};

struct Alltoall : Allgather {
    static constexpr Operation operation = Operation::alltoall;
    using Allgather::Allgather;

    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given_is_got = given == MPI_IN_PLACE;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_count, std::int64_t{rank} * got_count, got_type));
            if (!found.given_is_got) {
                found.given.push_back(
                    part_of(given, given_count, std::int64_t{rank} * given_count, given_type));
            }
        }
        return found;
    }
};

// Of a row and a column of pairs.
template <class Sent, class Received>
[[nodiscard]] Sizes pairs(const Caller& c, Sent sent, Received received) {
    const auto ranks = static_cast<std::size_t>(c.ranks);
    const auto own = static_cast<std::size_t>(c.rank);
    Sizes found(ranks * ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        found[i * ranks + own] = received(i);
    }
    for (std::size_t i = 0; i < ranks; ++i) {
        found[own * ranks + i] = sent(i);
    }
    return found;
}

struct Alltoallv : Unrooted, Moving {
    static constexpr Operation operation = Operation::alltoallv;
    const void* given;
    const int* given_counts;
    const int* given_places;
    MPI_Datatype given_type;
    void* got;
    const int* got_counts;
    const int* got_places;
    MPI_Datatype got_type;
    MPI_Comm communicator;

    Alltoallv(const void* s, const int* sn, const int* sd, MPI_Datatype st, void* r, const int* rn,
              const int* rd, MPI_Datatype rt, MPI_Comm comm)
        : given(s), given_counts(sn), given_places(sd), given_type(st), got(r), got_counts(rn),
          got_places(rd), got_type(rt), communicator(comm) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return got_type != MPI_DATATYPE_NULL &&
               (given == MPI_IN_PLACE || given_type != MPI_DATATYPE_NULL);
    }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        const std::int64_t got_size = size_of(got_type);
        const auto received = [&](std::size_t i) { return got_counts[i] * got_size; };
        if (given == MPI_IN_PLACE) {
            return pairs(c, received, received);
        }
        const std::int64_t given_size = size_of(given_type);
        return pairs(
            c, [&](std::size_t i) { return given_counts[i] * given_size; }, received);
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given_is_got = given == MPI_IN_PLACE;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.got.push_back(part_of(got, got_counts[rank], got_places[rank], got_type));
            if (!found.given_is_got) {
                found.given.push_back(
                    part_of(given, given_counts[rank], given_places[rank], given_type));
            }
        }
        return found;
    }
};

struct Alltoallw : Unrooted, Moving {
    static constexpr Operation operation = Operation::alltoallw;
    const void* given;
    const int* given_counts;
    const int* given_places; // in bytes
    const MPI_Datatype* given_types;
    void* got;
    const int* got_counts;
    const int* got_places;
    const MPI_Datatype* got_types;
    MPI_Comm communicator;

    Alltoallw(const void* s, const int* sn, const int* sd, const MPI_Datatype* st, void* r,
              const int* rn, const int* rd, const MPI_Datatype* rt, MPI_Comm comm)
        : given(s), given_counts(sn), given_places(sd), given_types(st), got(r), got_counts(rn),
          got_places(rd), got_types(rt), communicator(comm) {}
    [[nodiscard]] static bool is_usual(const Caller& /*c*/) { return true; }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    // The type of what has no elements says nothing: it may be MPI_DATATYPE_NULL.
    [[nodiscard]] static std::int64_t bytes_of(int count, MPI_Datatype type) {
        return count == 0 ? 0 : count * size_of(type);
    }
    [[nodiscard]] static Part part(const void* buffer, int count, int place, MPI_Datatype type) {
        return {memory_at(buffer, place), count, count == 0 ? MPI_BYTE : type};
    }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        const auto received = [&](std::size_t i) { return bytes_of(got_counts[i], got_types[i]); };
        if (given == MPI_IN_PLACE) {
            return pairs(c, received, received);
        }
        return pairs(
            c, [&](std::size_t i) { return bytes_of(given_counts[i], given_types[i]); }, received);
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given_is_got = given == MPI_IN_PLACE;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.got.push_back(part(got, got_counts[rank], got_places[rank], got_types[rank]));
            if (!found.given_is_got) {
                found.given.push_back(
                    part(given, given_counts[rank], given_places[rank], given_types[rank]));
            }
        }
        return found;
    }
};

// A vector of every rank, whose elements are joined.
struct Reduction {
    const void* given;
    void* got;
    MPI_Datatype type;
    MPI_Op joining;
    MPI_Comm communicator;

    Reduction(const void* s, void* r, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
        : given(s), got(r), type(t), joining(op), communicator(comm) {}
    [[nodiscard]] Joined joined() const { return {type, joining}; }
    [[nodiscard]] bool is_usual_reduction() const {
        return type != MPI_DATATYPE_NULL && joining != MPI_OP_NULL && is_without_gaps(type);
    }
    [[nodiscard]] Memories vectors(std::int64_t given_elements, std::int64_t got_elements) const {
        Memories found;
        found.given_is_got = given == MPI_IN_PLACE;
        found.given = {{memory_at(found.given_is_got ? got : given), given_elements, type}};
        if (got_elements >= 0) {
            found.got = {{memory_at(got), got_elements, type}};
        }
        return found;
    }
};

struct Reduce : Reduction, Even {
    static constexpr Operation operation = Operation::reduce;
    int count;
    int root_rank;

    Reduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm)
        : Reduction(s, r, t, op, comm), count(n), root_rank(root) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return count >= 0 && is_rank(root_rank, c) && is_usual_reduction();
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const { return count * size_of(type); }
    [[nodiscard]] Memories memories(const Caller& c) const {
        return vectors(count, c.rank == root_rank ? count : -1);
    }
};

struct Allreduce : Reduction, Unrooted, Even {
    static constexpr Operation operation = Operation::allreduce;
    int count;

    Allreduce(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
        : Reduction(s, r, t, op, comm), count(n) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return count >= 0 && is_usual_reduction();
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const { return count * size_of(type); }
    [[nodiscard]] Memories memories(const Caller& /*c*/) const { return vectors(count, count); }
};

struct ReduceScatterBlock : Reduction, Unrooted, Even {
    static constexpr Operation operation = Operation::reduce_scatter_block;
    int count;

    ReduceScatterBlock(const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
        : Reduction(s, r, t, op, comm), count(n) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return count >= 0 && is_usual_reduction();
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const { return count * size_of(type); }
    [[nodiscard]] Memories memories(const Caller& c) const {
        return vectors(std::int64_t{count} * c.ranks, count);
    }
};

struct ReduceScatter : Reduction, Unrooted {
    static constexpr Operation operation = Operation::reduce_scatter;
    const int* counts;

    ReduceScatter(const void* s, void* r, const int* n, MPI_Datatype t, MPI_Op op, MPI_Comm comm)
        : Reduction(s, r, t, op, comm), counts(n) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const { return is_usual_reduction(); }
    [[nodiscard]] static std::int64_t bytes(const Caller& /*c*/) { return 0; }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found;
        for (int rank = 0; rank < c.ranks; ++rank) {
            found.push_back(counts[rank] * size_of(type));
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        std::int64_t all = 0;
        for (int rank = 0; rank < c.ranks; ++rank) {
            all += counts[rank];
        }
        return vectors(all, counts[c.rank]);
    }
};

} // namespace sonde::tuned
