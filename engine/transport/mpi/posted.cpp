#include "transport/mpi/posted.hpp"

#include <string>

#include "core/failure.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::mpi {
namespace {

// The receiver holds every message that may be on its way.
constexpr std::size_t most_bytes = 2'147'483'648;

} // namespace

Posted::Posted(MPI_Comm communicator, int peer, int tag, std::size_t depth,
               std::size_t receive_bytes)
    : communicator_(communicator), peer_(peer), tag_(tag), depth_(depth),
      receive_bytes_(receive_bytes), sends_(depth, MPI_REQUEST_NULL) {
    if (depth != 0 && receive_bytes > most_bytes / depth) {
        throw Failure("bad_request", "request: outstanding is " + std::to_string(depth) +
                                         " messages of " + std::to_string(receive_bytes) +
                                         " bytes, expected at most " + std::to_string(most_bytes) +
                                         " bytes together");
    }
    memory_.resize(depth * receive_bytes); // touched here, not while the clock runs
}

Posted::~Posted() {
    try {
        withdraw();
    } catch (...) { // a rank whose MPI failed ends soon
    }
}

void Posted::send(std::span<const std::byte> message) {
    MPI_Request& request = sends_[next_send_];
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait for a message to leave");
    check(MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, peer_, tag_,
                    communicator_, &request),
          "begin to send a message");
    next_send_ = (next_send_ + 1) % depth_;
}

void Posted::settle() {
    check(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE),
          "wait for messages to leave");
}

std::span<std::byte> Posted::receive() {
    if (receives_.empty()) {
        receives_.assign(depth_, MPI_REQUEST_NULL);
        for (std::size_t slot = 0; slot < depth_; ++slot) {
            begin_receive(slot);
        }
    } else {
        begin_receive(current_); // what was handed out has been read
        current_ = (current_ + 1) % depth_;
    }
    check(MPI_Wait(&receives_[current_], MPI_STATUS_IGNORE), "receive a message");
    return place(current_);
}

void Posted::withdraw() {
    for (MPI_Request& request : receives_) {
        if (request != MPI_REQUEST_NULL) {
            check(MPI_Cancel(&request), "take back a receive");
            check(MPI_Wait(&request, MPI_STATUS_IGNORE), "take back a receive");
        }
    }
    receives_.clear();
    current_ = 0;
}

void Posted::begin_receive(std::size_t slot) {
    const std::span<std::byte> memory = place(slot);
    check(MPI_Irecv(memory.data(), static_cast<int>(memory.size()), MPI_BYTE, peer_, tag_,
                    communicator_, &receives_[slot]),
          "begin to receive a message");
}

} // namespace sonde::mpi
