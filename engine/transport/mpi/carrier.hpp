// The messages of one rank's schedule over MPI: what schedule::Execution wants of a carrier.
//
// `Calls` are MPI's functions: those of the program that links them, or behind a library that
// stands in their place. Each has the name of MPI's, and fail(status, what) throws.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sonde::mpi {

// What the messages of one operation have in common.
struct Channel {
    MPI_Comm communicator = MPI_COMM_NULL;
    int tag = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL; // of a reduction
    MPI_Op operation = MPI_OP_NULL;
    std::size_t element_bytes = 1;
    bool synchronous = false; // a send is complete when the other rank takes it
    bool polls = false;       // wait() looks only
};

template <class Calls>
class Carrier {
public:
    // The channel must outlive it, and may change between two operations.
    explicit Carrier(const Channel& channel) : channel_(&channel) {}

    void send(std::span<const std::byte> bytes, int peer, std::int64_t number) {
        const auto begin = channel_->synchronous ? Calls::synchronous_send : Calls::send;
        const Counted counted(bytes.size());
        check(begin(bytes.data(), counted.count, counted.type, peer, channel_->tag,
                    channel_->communicator, add(number)),
              "send a message of a schedule");
    }

    void receive(std::span<std::byte> bytes, int peer, std::int64_t number) {
        const Counted counted(bytes.size());
        check(Calls::receive(bytes.data(), counted.count, counted.type, peer, channel_->tag,
                             channel_->communicator, add(number)),
              "receive a message of a schedule");
    }

    void combine(const std::byte* left, std::byte* into, std::size_t bytes) const {
        constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
        const std::size_t elements = bytes / channel_->element_bytes;
        for (std::size_t done = 0; done < elements;) {
            const std::size_t count = std::min(elements - done, most);
            const std::size_t at = done * channel_->element_bytes;
            check(Calls::join(left + at, into + at, static_cast<int>(count), channel_->datatype,
                              channel_->operation),
                  "join what came with what is there");
            done += count;
        }
    }

    template <class Completed>
    void wait(bool all, Completed completed) {
        find_done(all && !channel_->polls);
        for (const std::int64_t number : done_) {
            completed(number);
        }
    }

private:
    // Bytes as MPI counts them: what an int does not hold is one element of a type of its own.
    struct Counted {
        explicit Counted(std::size_t bytes) {
            constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
            if (bytes <= most) {
                count = static_cast<int>(bytes);
                return;
            }
            constexpr std::size_t part = std::size_t{1} << 30U;
            const std::size_t rest = bytes % part;
            MPI_Datatype parts = MPI_DATATYPE_NULL;
            check(Calls::type_vector(static_cast<int>(bytes / part), static_cast<int>(part),
                                     static_cast<int>(part), MPI_BYTE, &parts),
                  "describe a large message");
            int lengths[2] = {1, static_cast<int>(rest)};
            MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes - rest)};
            MPI_Datatype types[2] = {parts, MPI_BYTE};
            check(Calls::type_struct(2, lengths, places, types, &type), "describe a large message");
            check(Calls::type_commit(&type), "describe a large message");
            check(Calls::type_free(&parts), "describe a large message");
            is_own = true;
            count = 1;
        }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        ~Counted() {
            if (is_own) {
                Calls::type_free(&type); // MPI keeps it as long as messages need it
            }
        }

        int count = 0;
        MPI_Datatype type = MPI_BYTE;
        bool is_own = false;
    };

    static void check(int status, std::string_view what) {
        if (status != MPI_SUCCESS) [[unlikely]] {
            Calls::fail(status, what);
        }
    }

    [[nodiscard]] MPI_Request* add(std::int64_t number) {
        numbers_.push_back(number);
        return &requests_.emplace_back(MPI_REQUEST_NULL);
    }

    // Of several messages MPI says only that one failed; which, and how, is in their statuses.
    void check_several(int status, int count) const {
        if (status != MPI_ERR_IN_STATUS) {
            return check(status, "wait for messages of a schedule");
        }
        for (int i = 0; i < count; ++i) {
            const int each = statuses_[static_cast<std::size_t>(i)].MPI_ERROR;
            if (each != MPI_ERR_PENDING) {
                check(each, "wait for messages of a schedule");
            }
        }
        Calls::fail(status, "wait for messages of a schedule");
    }

    // Into done_, and out of the others.
    void find_done(bool all) {
        const int count = static_cast<int>(requests_.size());
        statuses_.resize(requests_.size());
        done_.clear();
        if (all) {
            check_several(Calls::wait_all(count, requests_.data(), statuses_.data()), count);
            done_.swap(numbers_);
            requests_.clear();
            return;
        }
        which_.resize(requests_.size());
        int found = 0;
        const auto look = channel_->polls ? Calls::test_some : Calls::wait_some;
        const int status = look(count, requests_.data(), &found, which_.data(), statuses_.data());
        check_several(status, std::max(found, 0));
        if (found > 0) {
            keep_open();
        }
    }

    void keep_open() {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] == MPI_REQUEST_NULL) {
                done_.push_back(numbers_[i]);
            } else {
                requests_[kept] = requests_[i];
                numbers_[kept++] = numbers_[i];
            }
        }
        requests_.resize(kept);
        numbers_.resize(kept);
    }

    const Channel* channel_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    std::vector<std::int64_t> numbers_; // of the steps, for each request
    std::vector<int> which_;
    std::vector<std::int64_t> done_;
};

} // namespace sonde::mpi
