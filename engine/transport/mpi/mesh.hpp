// A rank of an MPI program that asks all others, and is asked by them.
//
// Questions are begun with MPI_Isend, and the place of an answer is there before its question
// leaves, so that an answer can always be taken: MPI_Send of it ends whatever the other rank does.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "transport/mpi/call.hpp"
#include "transport/transport.hpp"

namespace sonde::mpi {

class Mesh {
public:
    explicit Mesh(MPI_Comm communicator) : communicator_(communicator) {}
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    void listen(std::span<std::byte> question) {
        check(MPI_Irecv(question.data(), static_cast<int>(question.size()), MPI_BYTE,
                        MPI_ANY_SOURCE, tag_question, communicator_, &requests_[asked]),
              "begin to receive a question");
    }

    void ask(int partner, std::span<const std::byte> out, std::span<std::byte> in) {
        check(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, partner, tag_answer,
                        communicator_, &requests_[answered]),
              "begin to receive an answer");
        check(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, partner, tag_question,
                        communicator_, &sending_),
              "begin to send a question");
    }

    std::optional<int> await() {
        int which = 0;
        MPI_Status status;
        check(MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &which, &status),
              "wait for a message");
        if (which == asked) {
            return status.MPI_SOURCE;
        }
        check(MPI_Wait(&sending_, MPI_STATUS_IGNORE), "send a question");
        return std::nullopt;
    }

    void answer(int partner, std::span<const std::byte> out) {
        check(MPI_Send(out.data(), static_cast<int>(out.size()), MPI_BYTE, partner, tag_answer,
                       communicator_),
              "send an answer");
    }

private:
    enum Which : std::size_t { answered, asked };
    static constexpr int tag_question = 2;
    static constexpr int tag_answer = 3;

    MPI_Comm communicator_;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request sending_ = MPI_REQUEST_NULL;
};

static_assert(MeshTransport<Mesh>);

} // namespace sonde::mpi
