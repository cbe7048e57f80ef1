// What a thread of a rank sends and receives by: a communicator of its own, or one of all threads
// with a tag of its own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "transport/mpi/call.hpp"
#include "transport/transport.hpp"

namespace sonde::mpi {

class Job;

// One thread's MPI_Send and MPI_Recv with a thread of another rank.
class ThreadPath {
public:
    static constexpr bool datagrams = false;

    ThreadPath(MPI_Comm communicator, int peer, int tag)
        : communicator_(communicator), peer_(peer), tag_(tag) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        ++calls_sent_;
        check(MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, peer_, tag_,
                       communicator_),
              "send a thread's message");
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        check(MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_BYTE, peer_, tag_,
                       communicator_, MPI_STATUS_IGNORE),
              "receive a thread's message");
        ++calls_received_;
        return message.size();
    }

    [[nodiscard]] std::uint64_t calls_sent() const noexcept { return calls_sent_; }
    [[nodiscard]] std::uint64_t calls_received() const noexcept { return calls_received_; }

private:
    MPI_Comm communicator_;
    int peer_;
    int tag_;
    std::uint64_t calls_sent_ = 0;
    std::uint64_t calls_received_ = 0;
};

static_assert(MessageTransport<ThreadPath>);

// The communicators of threads: made where they are first asked for, and kept.
class ThreadCommunicators {
public:
    ThreadCommunicators() = default;
    // Not after a failure: other ranks might not come here.
    ~ThreadCommunicators();
    ThreadCommunicators(const ThreadCommunicators&) = delete;
    ThreadCommunicators& operator=(const ThreadCommunicators&) = delete;

    // All ranks together: at least so many. Throws Failure.
    void provide(const Job& job, std::size_t wanted);

    // The paths of so many threads to those of another rank; `shared`: all on one communicator,
    // each with a tag of its own.
    [[nodiscard]] std::vector<ThreadPath> paths(const Job& job, int peer, std::size_t threads,
                                                bool shared) const;

private:
    std::vector<MPI_Comm> own_;
};

// The name in MPI's standard: MPI_THREAD_FUNNELED.
[[nodiscard]] std::string_view thread_level_name(int level) noexcept;

// Several threads may call MPI at the same time only where it gives MPI_THREAD_MULTIPLE. Throws
// Failure("unsupported"), which says what it gave.
void require_thread_multiple(int provided, bool was_asked_for);

} // namespace sonde::mpi
