// A rank of an MPI program that asks all others, and is asked by them.
//
// Questions are begun with MPI_Isend, and the place of an answer is there before its question
// leaves, so that an answer can always be taken: MPI_Send of it ends whatever the other rank does.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace sonde::mpi {

class Mesh {
public:
    explicit Mesh(MPI_Comm communicator);
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    void listen(std::span<std::byte> question);
    void ask(int partner, std::span<const std::byte> out, std::span<std::byte> in);
    std::optional<int> await();
    void answer(int partner, std::span<const std::byte> out) const;

private:
    MPI_Comm communicator_;
    std::vector<MPI_Request> requests_; // of an answer, a question, and what is sent
};

static_assert(MeshTransport<Mesh>);

} // namespace sonde::mpi
