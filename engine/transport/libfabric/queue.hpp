// Completions of one endpoint: what was posted is done.
#pragma once

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/libfabric/endpoint.hpp"
#include "transport/libfabric/meeting_point.hpp"

namespace sonde {

// Something posted: what its completion names, so that the first member is the library's.
struct FabricWork {
    fi_context2 context{};
    bool busy = false;
    int error = 0;         // a datagram that came and is not whole
    std::size_t bytes = 0; // that came
};

class FabricQueue {
public:
    FabricQueue(const FabricEndpoint& endpoint, const MeetingPoint& meeting,
                const std::atomic<bool>& interrupted)
        : endpoint_(endpoint), meeting_(meeting), interrupted_(interrupted), cq_(endpoint.cq()) {}

    // Takes what is there, and waits for nothing. Throws Failure.
    void look() {
        const ssize_t got = fi_cq_read(cq_, entries_.data(), entries_.size());
        if (got > 0) {
            take(got);
        } else if (got != -FI_EAGAIN) [[unlikely]] {
            fail(got);
        } else if ((++idle_ & looks_mask) == 0) [[unlikely]] {
            give_way();
        }
    }
    // The same, asleep until something is there, for so long at most.
    void sleep() {
        const ssize_t got =
            fi_cq_sread(cq_, entries_.data(), entries_.size(), nullptr, patience_ms);
        if (got > 0) {
            take(got);
        } else if (got != -FI_EAGAIN && got != -FI_EINTR && got != -FI_ETIMEDOUT) [[unlikely]] {
            fail(got);
        } else {
            ++slept_in_vain_;
            check_alive();
        }
    }

    // Writes of the other end into this one's memory, and what came with the first and the last.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    [[nodiscard]] std::uint64_t first_data() const noexcept { return first_data_; }
    [[nodiscard]] std::uint64_t last_data() const noexcept { return last_data_; }
    // How often a sleep ended without anything.
    [[nodiscard]] std::uint64_t slept_in_vain() const noexcept { return slept_in_vain_; }
    // How often this end let others have its CPU, which takes two system calls.
    [[nodiscard]] std::uint64_t gave_way() const noexcept { return gave_way_; }
    // From now on what fails is kept by its work, and nothing is thrown.
    void keep_errors(bool kept) noexcept { keeps_errors_ = kept; }

    // Throws Failure once the run was interrupted or the other end is gone.
    void check_alive() const;

    static constexpr int patience_ms = 200;

private:
    static constexpr std::uint64_t looks_mask = 0xFFF; // some 100 us

    void take(ssize_t got) noexcept {
        for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
            const fi_cq_data_entry& entry = entries_[i]; // NOLINT(*-constant-array-index)
            if ((entry.flags & FI_REMOTE_WRITE) != 0) {
                first_data_ = written_++ == 0 ? entry.data : first_data_;
                last_data_ = entry.data;
                continue;
            }
            auto* const work = static_cast<FabricWork*>(entry.op_context);
            work->busy = false;
            work->bytes = entry.len;
        }
    }
    void fail(ssize_t error);
    void give_way();

    const FabricEndpoint& endpoint_;
    const MeetingPoint& meeting_;
    const std::atomic<bool>& interrupted_;
    fid_cq* cq_;
    std::array<fi_cq_data_entry, 16> entries_{};
    std::uint64_t idle_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t first_data_ = 0;
    std::uint64_t last_data_ = 0;
    std::uint64_t slept_in_vain_ = 0;
    std::uint64_t gave_way_ = 0;
    bool keeps_errors_ = false;
};

// How a timed loop waits for completions.
struct FabricSpinning {
    static void wait(FabricQueue& queue) { queue.look(); }
};
struct FabricSleeping {
    static void wait(FabricQueue& queue) { queue.sleep(); }
};

} // namespace sonde
