#include "tuned/side.hpp"

#include <algorithm>
#include <cstring>

#include "tuned/calls.hpp"

namespace sonde::tuned {

namespace {

constexpr std::int64_t packed_at_once_bytes = std::int64_t{1} << 30U; // MPI counts them by an int

bool is_named(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    require(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
    return combiner == MPI_COMBINER_NAMED;
}

// Calls move(at, count, packed, bytes) for as many elements as fit an int of bytes.
template <class Move>
void in_pieces(const Part& part, std::byte* packed, Move move) {
    const TypeFacts facts = facts_of(part.type);
    if (facts.bytes == 0 || part.count == 0) {
        return;
    }
    const std::int64_t most = std::max<std::int64_t>(packed_at_once_bytes / facts.bytes, 1);
    for (std::int64_t done = 0; done < part.count;) {
        const std::int64_t count = std::min(part.count - done, most);
        move(part.at + done * facts.extent, static_cast<int>(count), packed + done * facts.bytes,
             static_cast<int>(count * facts.bytes));
        done += count;
    }
}

} // namespace

TypeFacts facts_of(MPI_Datatype type) {
    int bytes = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    require(PMPI_Type_size(type, &bytes));
    require(PMPI_Type_get_extent(type, &lower, &extent));
    return {bytes, extent, bytes == extent && lower == 0 && is_named(type)};
}

bool is_without_gaps(MPI_Datatype type) {
    int bytes = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    require(PMPI_Type_size(type, &bytes));
    require(PMPI_Type_get_extent(type, &lower, &extent));
    require(PMPI_Type_get_true_extent(type, &true_lower, &true_extent));
    return bytes > 0 && bytes == extent && lower == 0 && true_lower == 0 && true_extent == extent;
}

Side::Side(const std::vector<Part>& parts, bool apart) {
    std::int64_t bytes = 0;
    std::byte* first = nullptr;
    bool is_apart = apart;
    for (const Part& part : parts) {
        const TypeFacts facts = facts_of(part.type);
        const std::int64_t part_bytes = part.count * facts.bytes;
        is_apart = is_apart || (part_bytes > 0 && !facts.is_dense);
        first = first == nullptr ? part.at : first;
        places_.push_back(bytes);
        bytes += part_bytes;
    }
    base_ = first;
    if (is_apart) {
        parts_ = parts;
        packed_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        base_ = packed_.get();
        return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        places_[i] = parts[i].at == nullptr ? 0 : parts[i].at - base_;
    }
}

void Side::pack() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const Part& part = parts_[i];
        in_pieces(part, base_ + places_[i],
                  [&](const std::byte* at, int count, std::byte* packed, int bytes) {
                      int position = 0;
                      require(
                          PMPI_Pack(at, count, part.type, packed, bytes, &position, MPI_COMM_SELF));
                  });
    }
}

void Side::finish() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const Part& part = parts_[i];
        in_pieces(
            part, base_ + places_[i],
            [&](std::byte* at, int count, const std::byte* packed, int bytes) {
                int position = 0;
                require(PMPI_Unpack(packed, bytes, &position, at, count, part.type, MPI_COMM_SELF));
            });
    }
}

void Side::keep_types() {
    for (Part& part : parts_) {
        if (!is_named(part.type)) {
            MPI_Datatype kept = MPI_DATATYPE_NULL;
            require(PMPI_Type_dup(part.type, &kept));
            part.type = kept;
            kept_.push_back(kept);
        }
    }
}

void Side::free_types() {
    for (MPI_Datatype& kept : kept_) {
        require(PMPI_Type_free(&kept));
    }
    kept_.clear();
}

} // namespace sonde::tuned
