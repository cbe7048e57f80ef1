// Messages begun before those ahead of them have ended: MPI_Isend and MPI_Irecv with a wait later.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

namespace sonde::mpi {

// Up to `depth` sends, and as many receives, on their way at once between this rank and another.
// One rank of a pair sends, the other receives.
class Posted {
public:
    // depth 0: nothing is ever begun. Takes the memory of `depth` messages of receive_bytes, which
    // is 0 at a rank that sends. Throws Failure("bad_request") where that is too much.
    Posted(MPI_Comm communicator, int peer, int tag, std::size_t depth, std::size_t receive_bytes);
    ~Posted(); // withdraws
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;

    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

    // Waits for the send of `depth` messages ago and begins this one, whose memory must stay as it
    // is until settle().
    void send(std::span<const std::byte> message);
    // Returns when no send is on its way any more.
    void settle();

    // The next message, which may be read until the next call; the others' receives go on.
    [[nodiscard]] std::span<std::byte> receive();
    // Takes back the receives for which nothing will come.
    void withdraw();

private:
    [[nodiscard]] std::span<std::byte> place(std::size_t slot) noexcept {
        return std::span(memory_).subspan(slot * receive_bytes_, receive_bytes_);
    }
    void begin_receive(std::size_t slot);

    MPI_Comm communicator_;
    int peer_;
    int tag_;
    std::size_t depth_;
    std::size_t receive_bytes_;
    std::vector<std::byte> memory_;
    std::vector<MPI_Request> sends_;
    std::vector<MPI_Request> receives_; // empty until the first is asked for
    std::size_t next_send_ = 0;
    std::size_t current_ = 0; // the receive whose message was handed out last
};

} // namespace sonde::mpi
