#include "transport/mpi/mesh.hpp"

#include "transport/mpi/call.hpp"

namespace sonde::mpi {
namespace {

enum Which : int { answered, asked, sent };
constexpr int awaited = 2; // of these
constexpr int tag_mesh_question = 2;
constexpr int tag_mesh_answer = 3;

} // namespace

Mesh::Mesh(MPI_Comm communicator)
    : communicator_(communicator), requests_(sent + 1, MPI_REQUEST_NULL) {}

void Mesh::listen(std::span<std::byte> question) {
    check(MPI_Irecv(question.data(), static_cast<int>(question.size()), MPI_BYTE, MPI_ANY_SOURCE,
                    tag_mesh_question, communicator_, &requests_[asked]),
          "begin to receive a question");
}

void Mesh::ask(int partner, std::span<const std::byte> out, std::span<std::byte> in) {
    check(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, partner, tag_mesh_answer,
                    communicator_, &requests_[answered]),
          "begin to receive an answer");
    check(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, partner, tag_mesh_question,
                    communicator_, &requests_[sent]),
          "begin to send a question");
}

std::optional<int> Mesh::await() {
    int which = 0;
    MPI_Status status;
    check(MPI_Waitany(awaited, requests_.data(), &which, &status), "wait for a message");
    if (which == asked) {
        return status.MPI_SOURCE;
    }
    check(MPI_Wait(&requests_[sent], MPI_STATUS_IGNORE), "send a question");
    return std::nullopt;
}

void Mesh::answer(int partner, std::span<const std::byte> out) const {
    check(MPI_Send(out.data(), static_cast<int>(out.size()), MPI_BYTE, partner, tag_mesh_answer,
                   communicator_),
          "send an answer");
}

} // namespace sonde::mpi
