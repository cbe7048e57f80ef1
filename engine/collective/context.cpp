#include "collective/context.hpp"

#include <limits>
#include <string>

#include "core/failure.hpp"

namespace sonde::collective {

Context::Context(const Setup& setup)
    : communicator(setup.communicator), rank(setup.rank), ranks(setup.ranks), root(setup.root),
      rotates(setup.rotate_root), uneven(setup.uneven), check(setup.check_data),
      message_bytes(setup.message_bytes), seed(setup.seed), choices(setup.choices),
      reduction(reduction_named(setup.choices.reduction, setup.choices.datatype)),
      division(0, setup.ranks, false), given(0, 0), got(0, 0), spare(0, 0) {}

Context::~Context() {
    for (MPI_Request& pending : requests) {
        if (pending != MPI_REQUEST_NULL) {
            MPI_Request_free(&pending);
        }
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    free_window();
    for (MPI_Group* group : {&to_group, &from_group}) {
        if (*group != MPI_GROUP_NULL) {
            MPI_Group_free(group);
        }
    }
    for (MPI_Comm* held : {&made, &topology}) {
        if (*held != MPI_COMM_NULL) {
            MPI_Comm_free(held);
        }
    }
    if (owns_datatype) {
        MPI_Type_free(&datatype);
    }
    if (owns_reduction) {
        MPI_Op_free(&reduction.operation);
    }
    if (is_attached) {
        void* buffer = nullptr;
        int bytes = 0;
        MPI_Buffer_detach(static_cast<void*>(&buffer), &bytes);
    }
}

void Context::free_window() noexcept {
    if (is_locked) {
        MPI_Win_unlock_all(window);
    }
    if (window != MPI_WIN_NULL) {
        MPI_Win_free(&window);
    }
}

void Context::write_given(int of_rank, std::size_t offset,
                          std::span<std::byte> out) const noexcept {
    Payload::write(out, seed + static_cast<std::uint64_t>(of_rank), offset);
}

Payload Context::own(std::size_t bytes) const {
    return {bytes, seed + static_cast<std::uint64_t>(rank), choices.align_bytes};
}

Payload Context::blank(std::size_t bytes) const { return {bytes, ~seed, choices.align_bytes}; }

int countable(std::size_t elements) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (elements > most) {
        throw Failure("bad_request", "request: message_bytes make " + std::to_string(elements) +
                                         " elements, expected at most " + std::to_string(most) +
                                         " over MPI");
    }
    return static_cast<int>(elements);
}

Parts as_parts(const Division& division, int parts) {
    Parts found;
    static_cast<void>(countable(division.total()));
    for (int part = 0; part < parts; ++part) {
        found.counts.push_back(countable(division.size(part)));
        found.places.push_back(countable(division.begin(part)));
    }
    return found;
}

} // namespace sonde::collective
