// What operations between two ranks have in common.
#pragma once

#include <mpi.h>

#include <span>

#include "collective/context.hpp"

namespace sonde::collective {

constexpr int message_tag = 1;

// To the partner and back: the lower rank begins. A rank without a partner is done at once.
template <auto send, auto receive>
int round_trip(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const bool begins = c.rank < c.to;
    const int status = begins ? send(c) : receive(c);
    if (status != MPI_SUCCESS) {
        return status;
    }
    return begins ? receive(c) : send(c);
}

// A message of the context's datatype by a blocking call, such as MPI_Send.
template <auto function>
int send_by(Context& c) {
    return function(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag, c.communicator);
}

inline int receive_from(Context& c, int source) {
    return MPI_Recv(c.got.bytes().data(), c.count, c.datatype, source, message_tag, c.communicator,
                    MPI_STATUS_IGNORE);
}

inline int receive(Context& c) { return receive_from(c, c.from); }

inline int start_receive(Context& c) {
    return MPI_Irecv(c.got.bytes().data(), c.count, c.datatype, c.from, message_tag, c.communicator,
                     &c.request);
}

inline int wait(Context& c) { return MPI_Wait(&c.request, MPI_STATUS_IGNORE); }

// By a call that returns before the message is gone, such as MPI_Isend.
template <auto function>
int send_started(Context& c) {
    MPI_Request sending = MPI_REQUEST_NULL;
    const int status = function(c.given.bytes().data(), c.count, c.datatype, c.to, message_tag,
                                c.communicator, &sending);
    return status == MPI_SUCCESS ? MPI_Wait(&sending, MPI_STATUS_IGNORE) : status;
}

// Both partners send at the same time, each with its receive begun before.
template <auto send>
int head_on(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    int status = start_receive(c);
    if (status == MPI_SUCCESS) {
        status = send(c);
    }
    return status == MPI_SUCCESS ? wait(c) : status;
}

// All send to the root, which begins to receive from all and then waits. `got` has the messages of
// the other ranks in their order.
[[nodiscard]] int receive_from_all(Context& c);

template <auto send>
int to_one(Context& c) {
    if (c.rank == c.root) {
        return receive_from_all(c);
    }
    c.to = c.root;
    return send(c);
}

// After the entry's own.
void prepare_to_one(Context& c);
[[nodiscard]] std::size_t expect_at_root(const Context& c, std::span<std::byte> out);
[[nodiscard]] std::size_t sends_to_root(const Context& c);

// One message from each rank that has a partner.
inline std::size_t sends_message(const Context& c) {
    return c.has_partners() ? c.message_bytes : 0;
}

} // namespace sonde::collective
