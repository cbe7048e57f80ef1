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
#include <numeric>
#include <utility>
#include <vector>

#include "tuned/call.hpp"

namespace sonde::tuned {

[[nodiscard]] inline std::byte* memory_at(const void* buffer, std::int64_t offset = 0) {
    return static_cast<std::byte*>(const_cast<void*>(buffer)) + offset;
}

[[nodiscard]] inline std::int64_t size_of(MPI_Datatype type) { return facts_of(type).bytes; }

// A part of the same size for each rank, one after the other.
struct Block {
    static constexpr bool is_even = true;
    const void* memory;
    int count;
    MPI_Datatype type;

    [[nodiscard]] bool is_in_place() const { return memory == MPI_IN_PLACE; }
    [[nodiscard]] bool is_usual() const { return count >= 0 && type != MPI_DATATYPE_NULL; }
    [[nodiscard]] std::int64_t bytes(int /*rank*/ = 0) const { return count * size_of(type); }
    [[nodiscard]] Part part(int rank = 0) const {
        const std::int64_t before = std::int64_t{rank} * count;
        return {memory_at(memory, before == 0 ? 0 : before * facts_of(type).extent), count, type};
    }
};

// A part for each rank, of a size and at a place of its own.
struct Blocks {
    static constexpr bool is_even = false;
    const void* memory;
    const int* counts;
    const int* places; // in elements
    MPI_Datatype type;

    [[nodiscard]] bool is_in_place() const { return memory == MPI_IN_PLACE; }
    [[nodiscard]] bool is_usual() const { return type != MPI_DATATYPE_NULL; }
    [[nodiscard]] std::int64_t bytes(int rank) const { return counts[rank] * size_of(type); }
    [[nodiscard]] std::int64_t all_bytes(int ranks) const {
        const std::int64_t all = std::accumulate(counts, counts + ranks, std::int64_t{0});
        return all == 0 ? 0 : all * size_of(type);
    }
    [[nodiscard]] Part part(int rank) const {
        const std::int64_t before = places[rank];
        return {memory_at(memory, before == 0 ? 0 : before * facts_of(type).extent), counts[rank],
                type};
    }
};

// Each also of a type of its own. That of what has no elements says nothing: it may be
// MPI_DATATYPE_NULL.
struct TypedBlocks {
    static constexpr bool is_even = false;
    const void* memory;
    const int* counts;
    const int* places; // in bytes
    const MPI_Datatype* types;

    [[nodiscard]] bool is_in_place() const { return memory == MPI_IN_PLACE; }
    [[nodiscard]] static bool is_usual() { return true; }
    [[nodiscard]] std::int64_t bytes(int rank) const {
        return counts[rank] == 0 ? 0 : counts[rank] * size_of(types[rank]);
    }
    [[nodiscard]] std::int64_t all_bytes(int ranks) const {
        std::int64_t all = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            all += bytes(rank);
        }
        return all;
    }
    [[nodiscard]] Part part(int rank) const {
        const MPI_Datatype type = counts[rank] == 0 ? MPI_BYTE : types[rank];
        return {memory_at(memory, places[rank]), counts[rank], type};
    }
};

template <class Many>
[[nodiscard]] std::vector<Part> parts_of(const Many& many, const Caller& c) {
    std::vector<Part> found;
    for (int rank = 0; rank < c.ranks; ++rank) {
        found.push_back(many.part(rank));
    }
    return found;
}

// What a rank has beside the parts of all: a part of its own, or one of those.
[[nodiscard]] inline Part own_part(const Block& own, const std::vector<Part>& all,
                                   const Caller& c) {
    return own.is_in_place() ? all[static_cast<std::size_t>(c.rank)] : own.part();
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
    Block message;
    int root_rank;
    MPI_Comm communicator;

    Bcast(void* b, int n, MPI_Datatype t, int r, MPI_Comm comm)
        : message{b, n, t}, root_rank(r), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return message.is_usual() && is_rank(root_rank, c);
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const { return message.bytes(); }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        (c.rank == root_rank ? found.given : found.got) = {message.part()};
        return found;
    }
};

// The root has a part for, or from, each rank; each rank has its own.
template <class Many>
struct Rooted : Moving {
    Many all;
    Block own;
    int root_rank;
    MPI_Comm communicator;

    Rooted(Many parts, Block part, int root, MPI_Comm comm)
        : all(parts), own(part), root_rank(root), communicator(comm) {}
    [[nodiscard]] int root() const { return root_rank; }
    [[nodiscard]] bool is_root(const Caller& c) const { return c.rank == root_rank; }
    [[nodiscard]] bool is_usual(const Caller& c) const {
        return is_rank(root_rank, c) && (!is_root(c) || all.is_usual()) &&
               ((is_root(c) && own.is_in_place()) || own.is_usual());
    }
    [[nodiscard]] std::int64_t bytes(const Caller& c) const {
        if (!Many::is_even) {
            return 0;
        }
        return is_root(c) ? all.bytes(0) : own.bytes();
    }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found(Many::is_even ? 0 : static_cast<std::size_t>(c.ranks));
        for (std::size_t i = 0; is_root(c) && i < found.size(); ++i) {
            found[i] = all.bytes(static_cast<int>(i));
        }
        if (!found.empty() && !is_root(c)) {
            found[static_cast<std::size_t>(c.rank)] = own.bytes();
        }
        return found;
    }

protected:
    [[nodiscard]] Memories gathered(const Caller& c) const {
        Memories found;
        if (is_root(c)) {
            found.got = parts_of(all, c);
        }
        found.given = {own_part(own, found.got, c)};
        return found;
    }
    [[nodiscard]] Memories scattered(const Caller& c) const {
        Memories found = gathered(c);
        std::swap(found.given, found.got);
        return found;
    }
};

struct Gather : Rooted<Block> {
    static constexpr Operation operation = Operation::gather;

    Gather(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root,
           MPI_Comm comm)
        : Rooted({r, rn, rt}, {s, sn, st}, root, comm) {}
    [[nodiscard]] Memories memories(const Caller& c) const { return gathered(c); }
};

struct Scatter : Rooted<Block> {
    static constexpr Operation operation = Operation::scatter;

    Scatter(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root,
            MPI_Comm comm)
        : Rooted({s, sn, st}, {r, rn, rt}, root, comm) {}
    [[nodiscard]] Memories memories(const Caller& c) const { return scattered(c); }
};

struct Gatherv : Rooted<Blocks> {
    static constexpr Operation operation = Operation::gatherv;

    Gatherv(const void* s, int sn, MPI_Datatype st, void* r, const int* rn, const int* rd,
            MPI_Datatype rt, int root, MPI_Comm comm)
        : Rooted({r, rn, rd, rt}, {s, sn, st}, root, comm) {}
    [[nodiscard]] Memories memories(const Caller& c) const { return gathered(c); }
};

struct Scatterv : Rooted<Blocks> {
    static constexpr Operation operation = Operation::scatterv;

    Scatterv(const void* s, const int* sn, const int* sd, MPI_Datatype st, void* r, int rn,
             MPI_Datatype rt, int root, MPI_Comm comm)
        : Rooted({s, sn, sd, st}, {r, rn, rt}, root, comm) {}
    [[nodiscard]] Memories memories(const Caller& c) const { return scattered(c); }
};

// Every rank gives a part and gets those of all.
template <class Many>
struct ToAll : Unrooted, Moving {
    Block given;
    Many got;
    MPI_Comm communicator;

    ToAll(Block own, Many all, MPI_Comm comm) : given(own), got(all), communicator(comm) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return got.is_usual() && (given.is_in_place() || given.is_usual());
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const {
        return Many::is_even ? got.bytes(0) : 0;
    }
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        Sizes found;
        for (int rank = 0; !Many::is_even && rank < c.ranks; ++rank) {
            found.push_back(got.bytes(rank));
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.got = parts_of(got, c);
        found.given = {own_part(given, found.got, c)};
        return found;
    }
};

struct Allgather : ToAll<Block> {
    static constexpr Operation operation = Operation::allgather;

    Allgather(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt,
              MPI_Comm comm)
        : ToAll({s, sn, st}, {r, rn, rt}, comm) {}
};

struct Allgatherv : ToAll<Blocks> {
    static constexpr Operation operation = Operation::allgatherv;

    Allgatherv(const void* s, int sn, MPI_Datatype st, void* r, const int* rn, const int* rd,
               MPI_Datatype rt, MPI_Comm comm)
        : ToAll({s, sn, st}, {r, rn, rd, rt}, comm) {}
};

// Every rank gives each a part and gets one from each.
template <class Many>
struct Exchange : Unrooted, Moving {
    Many given;
    Many got;
    MPI_Comm communicator;

    Exchange(Many sent, Many received, MPI_Comm comm)
        : given(sent), got(received), communicator(comm) {}
    [[nodiscard]] bool is_usual(const Caller& /*c*/) const {
        return got.is_usual() && (given.is_in_place() || given.is_usual());
    }
    [[nodiscard]] std::int64_t bytes(const Caller& /*c*/) const {
        return Many::is_even ? got.bytes(0) : 0;
    }
    // What the rank gives, to all.
    [[nodiscard]] std::int64_t sent_bytes(const Caller& c) const {
        return (given.is_in_place() ? got : given).all_bytes(c.ranks);
    }
    // Of a row and a column of pairs.
    [[nodiscard]] Sizes sizes(const Caller& c) const {
        const auto ranks = static_cast<std::size_t>(Many::is_even ? 0 : c.ranks);
        const auto own = static_cast<std::size_t>(c.rank);
        const Many& sent = given.is_in_place() ? got : given;
        Sizes found(ranks * ranks);
        for (std::size_t i = 0; i < ranks; ++i) {
            found[i * ranks + own] = got.bytes(static_cast<int>(i));
        }
        for (std::size_t i = 0; i < ranks; ++i) {
            found[own * ranks + i] = sent.bytes(static_cast<int>(i));
        }
        return found;
    }
    [[nodiscard]] Memories memories(const Caller& c) const {
        Memories found;
        found.given_is_got = given.is_in_place();
        found.got = parts_of(got, c);
        if (!found.given_is_got) {
            found.given = parts_of(given, c);
        }
        return found;
    }
};

struct Alltoall : Exchange<Block> {
    static constexpr Operation operation = Operation::alltoall;

    Alltoall(const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt,
             MPI_Comm comm)
        : Exchange({s, sn, st}, {r, rn, rt}, comm) {}
};

struct Alltoallv : Exchange<Blocks> {
    static constexpr Operation operation = Operation::alltoallv;

    Alltoallv(const void* s, const int* sn, const int* sd, MPI_Datatype st, void* r, const int* rn,
              const int* rd, MPI_Datatype rt, MPI_Comm comm)
        : Exchange({s, sn, sd, st}, {r, rn, rd, rt}, comm) {}
};

struct Alltoallw : Exchange<TypedBlocks> {
    static constexpr Operation operation = Operation::alltoallw;

    Alltoallw(const void* s, const int* sn, const int* sd, const MPI_Datatype* st, void* r,
              const int* rn, const int* rd, const MPI_Datatype* rt, MPI_Comm comm)
        : Exchange({s, sn, sd, st}, {r, rn, rd, rt}, comm) {}
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
